import { MillraceError } from "../../core/errors.ts";
import type { Hint } from "../store.ts";
import type { Connections } from "./connections.ts";
import { failureOf } from "./failures.ts";
import type { Statements } from "./statements.ts";
import { addTopic, readTopic, type Topic, topicOf } from "./notifications.ts";

/** The first pause between two looks, and the longest while nothing ends. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
/** A longer transaction is no longer watched: polling finds its jobs. */
const LONGEST_WATCH_MS = 5 * 60_000;
/** With more transactions than this, the oldest are no longer watched. */
const MOST_WATCHED = 10_000;

interface Watched {
  readonly since: number;
  /** One per subject: a transaction may insert many jobs, but few kinds of hints. */
  readonly topics: Map<string, Topic>;
}

export interface CommitWatchOptions {
  readonly connections: Connections;
  readonly sql: Statements;
  /** Called when a transaction was committed. */
  readonly onCommit: (hints: readonly Hint[]) => void;
}

/**
 * WHEN A CALLER'S TRANSACTION ENDS. What we wrote there becomes visible with its commit, and nobody tells us when that is. A NOTIFY inside
 * the transaction would come just then, but it takes a lock that all notifying commits of the server share, and cut the caller's commit
 * rate in half. So we ask the server on our own connection, for all such transactions at once, and send the hints when one was committed.
 */
export class CommitWatch {
  readonly #options: CommitWatchOptions;
  readonly #watched = new Map<string, Watched>();
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  #closed = false;

  constructor(options: CommitWatchOptions) {
    this.#options = options;
  }

  /** Sends these hints once the transaction with this number is committed. */
  add(transaction: string, hints: readonly Hint[]): void {
    if (this.#closed) return;
    let watched = this.#watched.get(transaction);
    if (watched === undefined) {
      if (this.#watched.size >= MOST_WATCHED) this.#watched.delete(this.#watched.keys().next().value!);
      watched = { since: performance.now(), topics: new Map() };
      this.#watched.set(transaction, watched);
      this.#pauseMs = FIRST_PAUSE_MS;
      this.#arm();
    }
    for (const hint of hints) addTopic(watched.topics, topicOf(hint));
  }

  /** Looks once more: a process may commit and close at once, and its jobs should not wait for others to poll. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#looking;
    await this.#look();
    this.#watched.clear();
  }

  #arm(): void {
    if (this.#timer !== null || this.#looking !== null || this.#watched.size === 0 || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#looking = this.#look().finally(() => {
        this.#looking = null;
        this.#arm();
      });
    }, this.#pauseMs).unref();
  }

  async #look(): Promise<void> {
    this.#forgetOld();
    if (this.#watched.size === 0) return;
    const { connections, sql } = this.#options;
    const asked = [...this.#watched.keys()];
    // Set before the call: a transaction that is added meanwhile must not wait for a longer pause.
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    try {
      const rows = await connections.call(sql.statusOfTransactions, [`{${asked.join(",")}}`]);
      for (const [transaction, status] of rows as unknown as [string, string | null][]) this.#heard(transaction, status);
    } catch (error) {
      // Other errors: ask again later. A lost hint costs a delay, an extra one a look.
      if (isRefused(error)) for (const transaction of asked) this.#heard(transaction, "committed");
    }
  }

  #forgetOld(): void {
    const oldest = performance.now() - LONGEST_WATCH_MS;
    for (const [transaction, { since }] of this.#watched) {
      // The map is in the order of arrival.
      if (since > oldest) return;
      this.#watched.delete(transaction);
    }
  }

  #heard(transaction: string, status: string | null): void {
    const watched = this.#watched.get(transaction);
    if (watched === undefined || status === "in progress") return;
    this.#watched.delete(transaction);
    this.#pauseMs = FIRST_PAUSE_MS;
    if (status === "committed") this.#options.onCommit([...watched.topics.values()].map((topic) => readTopic(topic)!));
  }
}

/** The server does not know one of the numbers, for example after a failover to a server that is behind, and so answers for none. */
function isRefused(error: unknown): boolean {
  return error instanceof MillraceError && error.cause !== undefined && failureOf(error.cause) === "refused";
}
