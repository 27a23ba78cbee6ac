import { MillraceError } from "../../core/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { MOST_WAITING, tooManyWaiting } from "../calls-under-way.ts";
import { EarlyHints } from "../early-hints.ts";
import type { Hint } from "../store.ts";
import { Catalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import { isBusy, storeError } from "./database.ts";
import { FileTime } from "./file-time.ts";
import { GrantedLeases } from "./exchange.ts";
import { Counts } from "./counters.ts";
import { LineMemory } from "./lines.ts";
import { RAISE_SIGNAL } from "./statements.ts";
import type { Transaction, View } from "./transaction.ts";

export interface WriterOptions {
  readonly clock: Clock;
  /** How long a call may wait while others keep the file locked. */
  readonly deadlineMs: number;
  /** Whether commits wait for the disk. */
  readonly fullSync: boolean;
  readonly onHints: (hints: readonly Hint[]) => void;
  /** Called after each commit. */
  readonly onCommit: () => void;
  /** Called each time a group has to wait because another process writes. */
  readonly onLocked?: (() => void) | undefined;
}

interface Work {
  readonly run: (tx: Transaction) => unknown;
  /** Whether the answer waits for the disk. */
  readonly durable: boolean;
  /** Topics that need no hint after the commit. */
  told: ReadonlySet<string>;
  /** When it fails if the file stays locked, by the monotonic clock. */
  readonly deadline: number;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * All writes of one tick are one transaction with one fsync: an fsync costs as much as forty inserts.
 *
 * If one of them throws, the whole transaction is rolled back and each runs again alone, so that only the faulty one fails. If another
 * process holds the write lock, the group waits by a timer: each try blocks the event loop for at most BUSY_TIMEOUT_MS.
 */
export class Writer {
  readonly #on: Connection;
  readonly #options: WriterOptions;
  readonly #time: FileTime;
  readonly #catalog: Catalog;
  /** For reads outside of a transaction. */
  readonly view: View;
  readonly earlyHints = new EarlyHints();
  readonly #granted = new GrantedLeases();
  readonly #counts = new Counts();
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
    this.view = {
      on,
      catalog,
      get now() {
        return time.peek();
      },
    };
  }

  /**
   * Runs in the transaction of this tick; resolves after its commit. `run` may be called more than once. `early` are hints of which watchers
   * hear now instead of after the commit: a claim that follows is in the same transaction, and needs no second commit.
   */
  run<Answer>(durable: boolean, run: (tx: Transaction) => Answer, early: readonly Hint[] = []): Promise<Answer> {
    if (this.#isGivenUp) return Promise.reject(givenUp());
    if (this.#waiting.length >= MOST_WAITING) return Promise.reject(tooManyWaiting("the SQLite file"));
    const answer = new Promise<Answer>((resolve, reject) => {
      const deadline = this.#options.clock.monotonic() + this.#options.deadlineMs;
      const told = early.length === 0 ? NOTHING : new Set(early.map(topicOf));
      this.#waiting.push({ run, durable, told, deadline, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      this.#flushSoon();
    });
    if (early.length > 0) this.#options.onHints(early);
    return answer;
  }

  /**
   * Runs at once, with fresh settings; tries again while the file is busy. Outside of any transaction, unless the application has one open on
   * the connection that it gave us: then inside that one, and nothing is remembered, because it may be rolled back.
   */
  async read<Answer>(run: (view: View) => Answer): Promise<Answer> {
    const deadline = this.#options.clock.monotonic() + this.#options.deadlineMs;
    for (let tries = 0; ; tries++) {
      if (this.#isGivenUp) throw givenUp();
      try {
        if (this.#on.db.isTransaction) return run({ on: this.#on, catalog: new Catalog(this.#on), now: this.#time.peek() });
        this.#catalog.forgetSettings();
        return run(this.view);
      } catch (error) {
        if (!isBusy(error) || this.#options.clock.monotonic() >= deadline) throw storeError(error);
        await new Promise((resolve) => setTimeout(resolve, retryPause(tries)));
      }
    }
  }

  /** Fails all calls that wait for the file, and later ones. */
  giveUp(): void {
    this.#isGivenUp = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    for (const { reject } of this.#waiting.splice(0)) reject(givenUp());
    this.#tellIdle();
  }

  /** Resolves when all calls have finished. There must be no new ones. */
  async close(): Promise<void> {
    if (this.#scheduled) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #flushSoon(): void {
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#retry = null;
    const group = this.#waiting;
    // `giveUp` was called between two ticks.
    if (group.length === 0) return;
    this.#waiting = [];
    const left = this.#commitGroup(group);
    if (left.length > 0) {
      this.#waiting = left.concat(this.#waiting);
      this.#retry = setTimeout(() => this.#flush(), retryPause(this.#busyTries++));
      return;
    }
    // A listener that got the commit's hints may have called again.
    if (this.#waiting.length > 0) return this.#flushSoon();
    this.#tellIdle();
  }

  #tellIdle(): void {
    this.#scheduled = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Returns the calls that have to wait because the file is busy. */
  #commitGroup(group: Work[]): Work[] {
    try {
      this.#runTogether(group);
      return [];
    } catch (error) {
      // From here on, a claim that came after an insert may be done before it.
      for (const work of group) work.told = NOTHING;
      if (error instanceof InUse) return this.#failExpired(group, error);
      this.#rollBack();
      if (isBusy(error)) {
        this.#options.onLocked?.();
        return this.#failExpired(group, error);
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
    const catalog = this.#catalog;
    const { db } = this.#on;
    if (db.isTransaction) throw new InUse();
    this.#setSync(group.some((work) => work.durable) ? "full" : "normal");
    db.exec("begin immediate");
    catalog.forgetSettings();
    const hints = new Map<string, Hint>();
    /** Which call of the group sent each hint last. */
    const sentBy = new Map<string, number>();
    let present = 0;
    const tx: Transaction = {
      on: this.#on,
      now: this.#time.take(),
      catalog,
      counts: this.#counts,
      lines: new LineMemory(),
      granted: this.#granted,
      sendHint: (hint) => {
        const topic = topicOf(hint);
        const before = hints.get(topic);
        sentBy.set(topic, present);
        if (before?.topic !== "due" || hint.topic !== "due" || hint.inMs < before.inMs) hints.set(topic, hint);
      },
    };
    const answers = group.map((work, index) => {
      present = index;
      return work.run(tx);
    });
    this.#counts.write(this.#on, tx.now);
    for (const topic of hints.keys()) if (topic !== NOTICES_TOPIC) this.#on.run(RAISE_SIGNAL, topic);
    db.exec("commit");
    this.#options.onCommit();
    this.#busyTries = 0;
    group.forEach((work, index) => work.resolve(answers[index] as never));
    // Who heard of an insert before the commit may have claimed before the next call of this group, which made another job pending.
    const isTold = (topic: string): boolean => group.slice(sentBy.get(topic)).some((work) => work.told.has(topic));
    const untold = [...hints].flatMap(([topic, hint]) => (isTold(topic) ? [] : [hint]));
    if (untold.length > 0) this.#options.onHints(untold);
  }

  /** Before a transaction: SQLite refuses the change inside one. */
  #setSync(wanted: "full" | "normal"): void {
    if (!this.#options.fullSync || wanted === this.#sync) return;
    this.#on.db.exec(`pragma synchronous = ${wanted}`);
    this.#sync = wanted;
  }

  #rollBack(): void {
    this.#counts.forget();
    this.#catalog.forget();
    // A full disk makes SQLite roll back by itself, and the application may have closed its connection.
    if (this.#on.db.isOpen && this.#on.db.isTransaction) this.#on.db.exec("rollback");
  }

  /** Fails the calls whose deadline has passed, and returns the others. */
  #failExpired(group: Work[], error: unknown): Work[] {
    const now = this.#options.clock.monotonic();
    const failure = stillLocked("at the deadline", error);
    return group.filter((work) => {
      if (now < work.deadline) return true;
      work.reject(failure);
      return false;
    });
  }
}

const NOTHING: ReadonlySet<string> = new Set();

/** The application's transaction is open on the connection that it gave us. */
class InUse extends Error {
  constructor() {
    super("the given connection has an open transaction");
  }
}

/** Only this process hears of its notices, so no signal tells others. */
export const NOTICES_TOPIC = "notices" satisfies Hint["topic"];

export function topicOf(hint: Hint): string {
  return hint.topic === "work" ? `work:${hint.queue}` : hint.topic;
}

const LONGEST_PAUSE_MS = 25;

/** Random, so that two processes do not collide again; growing, so that a long lock leaves the event loop free. */
function retryPause(tries: number): number {
  return 1 + Math.random() * Math.min(LONGEST_PAUSE_MS, 2 ** Math.min(tries, 10));
}

function stillLocked(when: string, cause: unknown): MillraceError {
  const who = "another process, or an open transaction of this one (pass that one as { tx })";
  return new MillraceError("store_unavailable", `${who}, still had the SQLite file locked ${when}`, { cause });
}

function givenUp(): MillraceError {
  return stillLocked("when the client was closed", null);
}
