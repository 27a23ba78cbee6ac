import type { Reply } from "./codec.ts";

/** What this engine needs from a Redis client. */
export interface Driver {
  /** Runs one command, EVALSHA and EVAL included. Commands of one tick are sent together. Texts of the reply are bytes. */
  command(name: string, args: readonly string[]): Promise<Reply>;

  /** The INFO of each master. */
  info(): Promise<string[]>;

  /** Opens a connection for messages: one that subscribes can do little else. */
  subscribe(listener: MessageListener): Subscription;

  /** Calls the listener whenever commands can be sent again. */
  onReady(listener: () => void): void;

  /** Why the last connection failed. */
  readonly lastError: Error | null;

  /** Breaks every connection at once. */
  close(): void;
}

export interface MessageListener {
  onMessage(channel: string, message: Buffer): void;
  /** The connection was lost and is back, and the server has confirmed its channels or refused: messages may have been missed. */
  onGap(): void;
}

export interface Subscription {
  /** Resolves after the first try to connect, even a failed one: the connection retries by itself. */
  readonly tried: Promise<void>;
  /** A lost connection subscribes again by itself. */
  add(channel: string): void;
  remove(channel: string): void;
  close(): void;
}

/** How a call failed, which decides what to do about it. */
export type Failure =
  /** It was not carried out, but a later try may work: not connected, loading, a replica for now, a slot on its way. */
  | "unsent"
  /** It was sent and no answer came: it may have been carried out. */
  | "unknown"
  /** The server does not know the digest. */
  | "noscript"
  /** The server's memory is full. Nothing was changed. */
  | "full"
  /** The user, the password or the database is wrong, or a permission is missing: trying again is no use. */
  | "denied"
  /** A bug of ours. */
  | "fault";

const PREFIXES: readonly (readonly [prefix: string, failure: Failure])[] = [
  ["NOSCRIPT", "noscript"],
  ["OOM", "full"],
  ["NOAUTH", "denied"],
  ["WRONGPASS", "denied"],
  ["NOPERM", "denied"],
  ["ERR invalid password", "denied"],
  ["ERR Client sent AUTH", "denied"],
  ["ERR DB index is out of range", "denied"],
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
  // Redis 6 wraps the error of a command in a script: "ERR Error running script (…): @user_script: 12: -OOM command not allowed …"
  const said = /@user_script: ?\d+: -([A-Z]+ .*)$/.exec(message)?.[1] ?? message;
  for (const [prefix, failure] of PREFIXES) if (said.startsWith(prefix)) return failure;
  // The server's own errors begin with a word in capitals; anything else is about the connection.
  return isServerReply(error) ? "fault" : "unknown";
}

function isServerReply(error: unknown): boolean {
  return error instanceof Error && error.name === "ReplyError";
}
