import type { Reply } from "./codec.ts";

/** The little that this engine asks of a Redis client. */
export interface Driver {
  /** One command, EVALSHA and EVAL among them. Commands of one tick leave together. Texts of the reply are bytes. */
  command(name: string, args: readonly string[]): Promise<Reply>;

  /** What each master says of itself. */
  info(): Promise<string[]>;

  /** A connection of its own for messages: whoever subscribes can do little else. */
  subscribe(hearer: Hearer): Subscription;

  /** Calls back whenever commands can be sent again. */
  onReady(listener: () => void): void;

  /** Why the last connection failed. */
  readonly lastError: Error | null;

  /** Breaks every connection at once. */
  close(): void;
}

export interface Hearer {
  onMessage(channel: string, message: Buffer): void;
  /** The connection was lost and is back: messages were missed. */
  onGap(): void;
}

export interface Subscription {
  /** Resolves when the connection is there, or was tried in vain: it is tried again by itself. */
  readonly tried: Promise<void>;
  /** A lost connection subscribes again by itself. */
  add(channel: string): void;
  remove(channel: string): void;
  close(): void;
}

/** How a call failed, which decides what may be done about it. */
export type Failure =
  /** It was not carried out, and may be later: not connected, loading, a replica for now, a slot on its way. */
  | "unsent"
  /** It was sent and no answer came: it may have been carried out. */
  | "unknown"
  /** The server does not know the digest. */
  | "noscript"
  /** The server's memory is full. Nothing was changed. */
  | "full"
  /** The user or password is wrong, or may not do this: no use in trying again. */
  | "denied"
  /** A mistake of ours. */
  | "fault";

const PREFIXES: readonly (readonly [prefix: string, failure: Failure])[] = [
  ["NOSCRIPT", "noscript"],
  ["OOM", "full"],
  ["NOAUTH", "denied"],
  ["WRONGPASS", "denied"],
  ["NOPERM", "denied"],
  ["ERR invalid password", "denied"],
  ["ERR Client sent AUTH", "denied"],
  ["LOADING", "unsent"],
  ["READONLY", "unsent"],
  ["MASTERDOWN", "unsent"],
  ["CLUSTERDOWN", "unsent"],
  ["TRYAGAIN", "unsent"],
  ["MOVED", "unsent"],
  ["ASK", "unsent"],
  ["BUSY", "unsent"],
  ["NOREPLICAS", "unsent"],
  ["MISCONF", "unsent"],
  ["ERR max number of clients", "unsent"],
  ["Too many Cluster redirections", "unsent"],
  ["Stream isn't writeable", "unsent"],
  ["Cluster isn't ready", "unsent"],
];

export function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : "";
  // Redis 6 wraps what a command inside of a script said: "ERR Error running script (…): @user_script: 12: -OOM command not allowed …"
  const said = /@user_script: ?\d+: -([A-Z]+ .*)$/.exec(message)?.[1] ?? message;
  for (const [prefix, failure] of PREFIXES) if (said.startsWith(prefix)) return failure;
  // What the server itself says begins with a word in capitals; anything else is about the connection.
  return isServerReply(error) ? "fault" : "unknown";
}

function isServerReply(error: unknown): boolean {
  return error instanceof Error && error.name === "ReplyError";
}
