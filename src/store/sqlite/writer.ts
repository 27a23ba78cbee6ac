import { MillraceError } from "../../core/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Hint } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import { isBusy, storeError } from "./database.ts";
import type { FileTime } from "./file-time.ts";
import { Ledger } from "./ledger.ts";
import { RAISE_SIGNAL } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

export interface WriterOptions {
  readonly clock: Clock;
  readonly time: FileTime;
  readonly catalog: Catalog;
  /** How long work may wait for a file that others keep locked. */
  readonly deadlineMs: number;
  /** Whether commits wait for the disk. */
  readonly fullSync: boolean;
  readonly onCommit: (hints: readonly Hint[]) => void;
}

interface Work {
  readonly run: (tx: Transaction) => unknown;
  /** Whether the answer must wait until the disk has it. */
  readonly durable: boolean;
  /** By the monotonic clock: when it is given up, if the file stays locked. */
  readonly deadline: number;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Everything that is asked for in one tick is one transaction, with one fsync: an fsync costs as much as forty inserts.
 *
 * When a piece of work throws, the whole transaction is undone and each piece runs again alone, so that the error is its own. When
 * another process holds the write lock, the group waits by a timer: at most BUSY_TIMEOUT_MS of each try block the event loop.
 */
export class Writer {
  readonly #on: Connection;
  readonly #options: WriterOptions;
  readonly #ledger = new Ledger();
  #waiting: Work[] = [];
  #scheduled = false;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(on: Connection, options: WriterOptions) {
    this.#on = on;
    this.#options = options;
  }

  /** Runs in the transaction of this tick; resolves after its commit. The work may run more than once. */
  write<Answer>(run: (tx: Transaction) => Answer): Promise<Answer> {
    return this.run(true, run);
  }

  /** The same for what a power cut may undo: who asked is dead then too, or asks again. */
  writeSoftly<Answer>(run: (tx: Transaction) => Answer): Promise<Answer> {
    return this.run(false, run);
  }

  /** Runs at once, outside of any transaction; waits and tries again while the file is busy. */
  async read<Answer>(run: () => Answer): Promise<Answer> {
    const deadline = this.#options.clock.monotonic() + this.#options.deadlineMs;
    for (;;) {
      if (this.#closed) throw closed();
      try {
        return run();
      } catch (error) {
        if (!isBusy(error) || this.#options.clock.monotonic() >= deadline) throw storeError(error);
        await new Promise((resolve) => setTimeout(resolve, retryPause()));
      }
    }
  }

  /** Lets what was asked for finish, then refuses more. */
  async close(): Promise<void> {
    if (this.#waiting.length > 0 || this.#scheduled) await new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#closed = true;
  }

  /** One of the two above. */
  run<Answer>(durable: boolean, run: (tx: Transaction) => Answer): Promise<Answer> {
    if (this.#closed) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      const deadline = this.#options.clock.monotonic() + this.#options.deadlineMs;
      this.#waiting.push({ run, durable, deadline, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      this.#flushSoon();
    });
  }

  #flushSoon(): void {
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    const group = this.#waiting;
    this.#waiting = [];
    const left = this.#commitGroup(group);
    if (left.length > 0) {
      this.#waiting = left.concat(this.#waiting);
      setTimeout(() => this.#flush(), retryPause());
      return;
    }
    // A listener that was rung by the commit may have asked for more meanwhile.
    if (this.#waiting.length > 0) return this.#flushSoon();
    this.#scheduled = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Returns what has to wait because the file is busy. */
  #commitGroup(group: Work[]): Work[] {
    try {
      this.#runTogether(group);
      return [];
    } catch (error) {
      this.#rollBack();
      if (isBusy(error)) return this.#keepHopeful(group, error);
      if (group.length === 1) {
        group[0]!.reject(storeError(error));
        return [];
      }
    }
    const left: Work[] = [];
    for (const work of group) left.push(...this.#commitGroup([work]));
    return left;
  }

  #runTogether(group: Work[]): void {
    const { catalog, fullSync, onCommit, time } = this.#options;
    const { db } = this.#on;
    // The setting cannot change inside a transaction.
    const soft = fullSync && !group.some((work) => work.durable);
    if (soft) db.exec("pragma synchronous = normal");
    try {
      db.exec("begin immediate");
      catalog.begin();
      const hints = new Map<string, Hint>();
      const tx: Transaction = {
        on: this.#on,
        now: time.take(),
        catalog,
        ledger: this.#ledger,
        ring: (hint) => hints.set(topicOf(hint), hint),
      };
      const answers = group.map((work) => work.run(tx));
      this.#ledger.write(this.#on, tx.now);
      for (const topic of hints.keys()) this.#on.run(RAISE_SIGNAL, topic);
      db.exec("commit");
      group.forEach((work, index) => work.resolve(answers[index] as never));
      if (hints.size > 0) onCommit([...hints.values()]);
    } finally {
      if (soft) db.exec("pragma synchronous = full");
    }
  }

  #rollBack(): void {
    this.#ledger.forget();
    this.#options.catalog.forget();
    // A full disk makes SQLite roll back by itself.
    if (this.#on.db.isTransaction) this.#on.db.exec("rollback");
  }

  /** What may wait on; the rest is told that its time is over. */
  #keepHopeful(group: Work[], error: unknown): Work[] {
    const now = this.#options.clock.monotonic();
    const failure = new MillraceError("store_unavailable", "the SQLite file stayed locked by another process until the deadline", {
      cause: error,
    });
    return group.filter((work) => {
      if (now < work.deadline) return true;
      work.reject(failure);
      return false;
    });
  }
}

export function topicOf(hint: Hint): string {
  return hint.topic === "work" ? `work:${hint.queue}` : hint.topic;
}

/** Random, so that processes that met do not meet again. */
function retryPause(): number {
  return 1 + Math.random() * 2;
}

function closed(): MillraceError {
  return new MillraceError("closed", "the client is closed");
}
