import type { Hint } from "../store.ts";
import type { Connections } from "./connections.ts";
import type { Statements } from "./statements.ts";

/** How soon one looks, and how slow one gets while nothing ends. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
/** A transaction that lasts longer than this is no longer watched: those who look by themselves find what it brings. */
const LONGEST_WATCH_MS = 5 * 60_000;
/** Of more transactions at once, the first are no longer watched. */
const MOST_WATCHED = 10_000;

interface Watched {
  readonly since: number;
  readonly hints: Hint[];
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
  #looking = false;
  #closed = false;

  constructor(options: CommitWatchOptions) {
    this.#options = options;
  }

  /** Rings these once the transaction of this number is committed. */
  add(transaction: string, hints: readonly Hint[]): void {
    if (this.#closed) return;
    const known = this.#watched.get(transaction);
    if (known !== undefined) return void known.hints.push(...hints);
    if (this.#watched.size >= MOST_WATCHED) this.#watched.delete(this.#watched.keys().next().value!);
    this.#watched.set(transaction, { since: performance.now(), hints: [...hints] });
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#watched.clear();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(): void {
    if (this.#timer !== null || this.#looking || this.#watched.size === 0 || this.#closed) return;
    this.#timer = setTimeout(() => void this.#look(), this.#pauseMs).unref();
  }

  async #look(): Promise<void> {
    this.#timer = null;
    this.#looking = true;
    // Those that come while one looks are new: they shall not wait for a pause that has grown.
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    try {
      const { connections, sql } = this.#options;
      const rows = await connections.call(sql.statusOfTransactions, [`{${[...this.#watched.keys()].join(",")}}`]);
      for (const [transaction, status] of rows as unknown as [string, string | null][]) this.#heard(transaction, status);
    } catch {
      // Asked again. A hint that is lost costs a delay.
    }
    this.#looking = false;
    this.#arm();
  }

  #heard(transaction: string, status: string | null): void {
    const watched = this.#watched.get(transaction);
    if (watched === undefined) return;
    if (status === "in progress" && performance.now() - watched.since < LONGEST_WATCH_MS) return;
    this.#watched.delete(transaction);
    this.#pauseMs = FIRST_PAUSE_MS;
    if (status === "committed") this.#options.onCommit(watched.hints);
  }
}
