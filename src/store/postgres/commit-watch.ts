import { MillraceError } from "../../core/errors.ts";
import type { Hint } from "../store.ts";
import type { Connections } from "./connections.ts";
import { fateOf } from "./failures.ts";
import type { Statements } from "./statements.ts";
import { addTopic, readTopic, type Topic, topicOf } from "./notifications.ts";

/** How soon one looks, and how slow one gets while nothing ends. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
/** A transaction that lasts longer than this is no longer watched: those who look by themselves find what it brings. */
const LONGEST_WATCH_MS = 5 * 60_000;
/** Of more transactions at once, the first are no longer watched. */
const MOST_WATCHED = 10_000;

interface Watched {
  readonly since: number;
  /** One for each subject: a transaction may bring any number of jobs, but has only so much to tell. */
  readonly topics: Map<string, Topic>;
}

export interface CommitWatchOptions {
  readonly connections: Connections;
  readonly sql: Statements;
  /** A transaction was committed: others may hear of it now. */
  readonly onCommit: (hints: readonly Hint[]) => void;
}

/**
 * WHEN A CALLER'S TRANSACTION ENDS. What we wrote there can be seen from its commit on, and nobody tells us when that is. A NOTIFY inside of it
 * would come just then, but it takes a lock that all notifying commits of the server share, and held the caller's own commits to half their
 * rate. So we ask the server instead, on a connection of ours and for all such transactions at once, and ring when one was committed.
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

  /** Rings these once the transaction of this number is committed. */
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

  /** Looks once more, because a process may commit and close at once, and its jobs shall not wait until others look by themselves. */
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
    // Those that come while one looks are new: they shall not wait for a pause that has grown.
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    try {
      const rows = await connections.call(sql.statusOfTransactions, [`{${asked.join(",")}}`]);
      for (const [transaction, status] of rows as unknown as [string, string | null][]) this.#heard(transaction, status);
    } catch (error) {
      // Otherwise it is asked again: a hint that is lost costs a delay, and one too many a look.
      if (isRefused(error)) for (const transaction of asked) this.#heard(transaction, "committed");
    }
  }

  #forgetOld(): void {
    const oldest = performance.now() - LONGEST_WATCH_MS;
    for (const [transaction, { since }] of this.#watched) {
      // They stand in the order in which they came.
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

/** The server cannot tell of one of them, as after a failover to a server that has not come to that number yet, and so of none. */
function isRefused(error: unknown): boolean {
  return error instanceof MillraceError && error.cause !== undefined && fateOf(error.cause) === "refused";
}
