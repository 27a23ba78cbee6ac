import { MillraceError } from "../../core/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { MOST_WAITING, tooManyWaiting } from "../calls-under-way.ts";
import type { Hint } from "../store.ts";
import { Catalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import { isBusy, storeError } from "./database.ts";
import { FileTime } from "./file-time.ts";
import { GrantedLeases } from "./exchange.ts";
import { Ledger } from "./ledger.ts";
import { RAISE_SIGNAL } from "./statements.ts";
import type { Transaction, View } from "./transaction.ts";

export interface WriterOptions {
  readonly clock: Clock;
  /** How long work may wait for a file that others keep locked. */
  readonly deadlineMs: number;
  /** Whether commits wait for the disk. */
  readonly fullSync: boolean;
  readonly onCommit: (hints: readonly Hint[]) => void;
  /** Told each time that a group has to wait because another process writes. */
  readonly onLocked?: (() => void) | undefined;
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
  readonly #time: FileTime;
  readonly #catalog: Catalog;
  readonly #view: View;
  readonly #granted = new GrantedLeases();
  readonly #ledger = new Ledger();
  #waiting: Work[] = [];
  #sync: "full" | "normal" = "full";
  #busyTries = 0;
  #scheduled = false;
  #retry: NodeJS.Timeout | null = null;
  #isGivenUp = false;
  #idle: (() => void)[] = [];

  constructor(on: Connection, options: WriterOptions) {
    this.#on = on;
    this.#options = options;
    const time = (this.#time = new FileTime(on, options.clock));
    const catalog = (this.#catalog = new Catalog(on));
    this.#view = {
      on,
      catalog,
      get now() {
        return time.peek();
      },
    };
  }

  /** Outside of a transaction. */
  get view(): View {
    return this.#view;
  }

  /** Runs in the transaction of this tick; resolves after its commit. The work may run more than once. */
  run<Answer>(durable: boolean, run: (tx: Transaction) => Answer): Promise<Answer> {
    if (this.#isGivenUp) return Promise.reject(givenUp());
    if (this.#waiting.length >= MOST_WAITING) return Promise.reject(tooManyWaiting("the SQLite file"));
    return new Promise((resolve, reject) => {
      const deadline = this.#options.clock.monotonic() + this.#options.deadlineMs;
      this.#waiting.push({ run, durable, deadline, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      this.#flushSoon();
    });
  }

  /** Runs at once, outside of any transaction, with settings looked up anew; waits and tries again while the file is busy. */
  async read<Answer>(run: (view: View) => Answer): Promise<Answer> {
    const deadline = this.#options.clock.monotonic() + this.#options.deadlineMs;
    for (let tries = 0; ; tries++) {
      if (this.#isGivenUp) throw givenUp();
      try {
        this.#catalog.forgetSettings();
        return run(this.#view);
      } catch (error) {
        if (!isBusy(error) || this.#options.clock.monotonic() >= deadline) throw storeError(error);
        await new Promise((resolve) => setTimeout(resolve, retryPause(tries)));
      }
    }
  }

  /** Fails what waits for the file, and what comes. */
  giveUp(): void {
    this.#isGivenUp = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    for (const { reject } of this.#waiting.splice(0)) reject(givenUp());
    this.#tellIdle();
  }

  /** Resolves when what was asked for has finished. Nobody may ask for more. */
  async close(): Promise<void> {
    if (this.#scheduled) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #flushSoon(): void {
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#retry = null;
    const group = this.#waiting;
    // It was given up between two ticks.
    if (group.length === 0) return;
    this.#waiting = [];
    const left = this.#commitGroup(group);
    if (left.length > 0) {
      this.#waiting = left.concat(this.#waiting);
      this.#retry = setTimeout(() => this.#flush(), retryPause(this.#busyTries++));
      return;
    }
    // A listener that was rung by the commit may have asked for more meanwhile.
    if (this.#waiting.length > 0) return this.#flushSoon();
    this.#tellIdle();
  }

  #tellIdle(): void {
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
      if (isBusy(error)) {
        this.#options.onLocked?.();
        return this.#keepHopeful(group, error);
      }
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
    const { onCommit } = this.#options;
    const catalog = this.#catalog;
    const { db } = this.#on;
    this.#setSync(group.some((work) => work.durable) ? "full" : "normal");
    db.exec("begin immediate");
    catalog.forgetSettings();
    const hints = new Map<string, Hint>();
    const tx: Transaction = {
      on: this.#on,
      now: this.#time.take(),
      catalog,
      ledger: this.#ledger,
      granted: this.#granted,
      ring: (hint) => {
        const topic = topicOf(hint);
        const before = hints.get(topic);
        if (before?.topic !== "due" || hint.topic !== "due" || hint.inMs < before.inMs) hints.set(topic, hint);
      },
    };
    const answers = group.map((work) => work.run(tx));
    this.#ledger.write(this.#on, tx.now);
    for (const topic of hints.keys()) this.#on.run(RAISE_SIGNAL, topic);
    db.exec("commit");
    this.#busyTries = 0;
    group.forEach((work, index) => work.resolve(answers[index] as never));
    if (hints.size > 0) onCommit([...hints.values()]);
  }

  /** Before a transaction: SQLite refuses the change inside one. */
  #setSync(wanted: "full" | "normal"): void {
    if (!this.#options.fullSync || wanted === this.#sync) return;
    this.#on.db.exec(`pragma synchronous = ${wanted}`);
    this.#sync = wanted;
  }

  #rollBack(): void {
    this.#ledger.forget();
    this.#catalog.forget();
    // A full disk makes SQLite roll back by itself.
    if (this.#on.db.isTransaction) this.#on.db.exec("rollback");
  }

  /** What may wait on; the rest is told that its time is over. */
  #keepHopeful(group: Work[], error: unknown): Work[] {
    const now = this.#options.clock.monotonic();
    const failure = stayedLocked("until the deadline", error);
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

const LONGEST_PAUSE_MS = 25;

/** Random, so that processes that met do not meet again; longer with each try, so that a long lock leaves the event loop free. */
function retryPause(tries: number): number {
  return 1 + Math.random() * Math.min(LONGEST_PAUSE_MS, 2 ** Math.min(tries, 10));
}

function stayedLocked(howLong: string, cause: unknown): MillraceError {
  const who = "by another process, or by an open transaction of this one (pass that as { tx })";
  return new MillraceError("store_unavailable", `the SQLite file stayed locked ${howLong}: ${who}`, { cause });
}

function givenUp(): MillraceError {
  return stayedLocked("when the client was closed", null);
}
