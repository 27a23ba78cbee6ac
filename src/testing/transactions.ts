import { AsyncLocalStorage } from "node:async_hooks";
import { answerOf } from "../client/enqueue-answer.ts";
import { MillraceError } from "../core/errors.ts";
import { type JobRecord, type NewJob, recordOf, WAITING } from "../core/job.ts";
import { effectiveOf } from "../core/limit-obstacles.ts";
import { decodeLimits } from "../core/limits.ts";
import type { InsertAnswer, Lease, LeaseAnswer, Note, Settlement, Store, TransactionVerbs } from "../store/store.ts";

/** What an open transaction of a test has done so far. */
class Held {
  /** The transaction around this one. */
  readonly outer: Held | undefined;
  jobs: NewJob[] = [];
  settlements: Settlement[] = [];
  notes: Note[] = [];
  isRolledBack = false;
  isOver = false;

  constructor(outer: Held | undefined) {
    this.outer = outer;
  }

  /** What a statement in it would see of what is not committed. */
  get seen(): readonly NewJob[] {
    return [...(this.outer?.seen ?? []), ...this.jobs];
  }
}

/** A transaction of the test client. Pass it as `tx`, or pass your own `tx`: inside `client.transaction` any will do. */
export interface TestTransaction {
  /** What was done in it so far is dropped, also if `client.transaction` ends well. For code that catches its errors and rolls back by hand. */
  rollback(): void;
}

/**
 * TRANSACTIONS IN TESTS. The test client cannot see how a transaction of the application ends. So the test says which function runs it: what is
 * enqueued or completed with a `tx` meanwhile is held back, done when the function returns, and dropped when it throws. Which `tx` belongs to
 * which function follows from the asynchronous context, so any object will do.
 */
export class TestTransactions {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #current = new AsyncLocalStorage<Held>();
  readonly #handles = new WeakMap<object, Held>();
  /** The last job of each key. The store knows if it still has the key. */
  readonly #keyed = new Map<string, NewJob>();

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
    this.#watchKeys();
    store.within = (tx) => this.#verbs(tx);
  }

  async run<Answer>(work: (tx: TestTransaction) => Answer | Promise<Answer>): Promise<Answer> {
    const outer = this.#current.getStore();
    const held = new Held(outer);
    const handle: TestTransaction = {
      rollback: () => {
        held.isRolledBack = true;
      },
    };
    this.#handles.set(handle, held);
    const answer = await this.#current.run(held, async () => work(handle)).finally(() => (held.isOver = true));
    if (!held.isRolledBack) await (outer === undefined ? this.#commit(held) : join(outer, held));
    return answer;
  }

  #verbs(tx: unknown): TransactionVerbs {
    const held = (typeof tx === "object" && tx !== null ? this.#handles.get(tx) : undefined) ?? this.#current.getStore();
    if (held === undefined) {
      const message = "the test client cannot see how tx ends: run the code that opens it inside client.transaction(() => …)";
      throw new MillraceError("invalid_transaction", message, { field: "tx" });
    }
    if (held.isOver) {
      const message = "the transaction has ended: await every call with tx inside client.transaction(() => …)";
      throw new MillraceError("invalid_transaction", message, { field: "tx" });
    }
    return {
      insert: async (jobs) => {
        const answers: InsertAnswer[] = [];
        for (const job of jobs) answers.push(await this.#admit(held, job));
        return answers;
      },
      settle: async (settlements) => {
        const answers = await this.#answer(settlements);
        held.settlements.push(...settlements.filter((_, index) => answers[index] === "ok"));
        return answers;
      },
      note: async (notes) => {
        const answers = await this.#answer(notes);
        held.notes.push(...notes.filter((_, index) => answers[index] === "ok"));
        return answers;
      },
    };
  }

  async #admit(held: Held, job: NewJob): Promise<InsertAnswer> {
    const now = this.#now();
    const key = keyOf(job);
    const here = key === null ? undefined : held.seen.find((other) => keyOf(other) === key);
    const holder = here ?? (key === null ? undefined : this.#keyed.get(key));
    const stored = here === undefined ? await this.#holderOfKey(holder, now) : storedAs(here, now);
    if (holder !== undefined && stored !== null) {
      return holder.fingerprint === job.fingerprint ? { kind: "known", job: stored } : { kind: "conflict", id: stored.id };
    }
    const capacity = await this.#reached(held, job.queue);
    if (capacity !== null) return { kind: "full", capacity };
    const waiting = await this.#reachedOfKey(held, job);
    if (waiting !== null) return { kind: "full", capacity: waiting, limitKey: job.limitKey! };
    held.jobs.push(job);
    const { status, createdAt, runAt } = storedAs(job, now);
    return { kind: "created", status, createdAt, runAt };
  }

  /** The stored job if it still has its key. */
  async #holderOfKey(holder: NewJob | undefined, now: number): Promise<JobRecord | null> {
    const [stored = null] = holder === undefined ? [] : await this.#store.find([holder.id]);
    if (stored === null || stored.idempotencyKey === null) return null;
    return stored.completedAt !== null && stored.completedAt + stored.keyTtlMs <= now ? null : stored;
  }

  /** The capacity of a queue that is full; null for any other. */
  async #reached(held: Held, queue: string): Promise<number | null> {
    const { settings, counts = [] } = (await this.#store.queues()).find(({ name }) => name === queue) ?? {};
    const capacity = settings?.capacity ?? null;
    if (capacity === null) return null;
    const waiting = counts.reduce((sum, { status, count }) => sum + (WAITING.includes(status) ? count : 0), 0);
    return waiting + held.seen.filter((job) => job.queue === queue).length < capacity ? null : capacity;
  }

  /** How many jobs of its limit key may wait, if as many do; null if it may wait, too. */
  async #reachedOfKey(held: Held, { queue, limitKey }: NewJob): Promise<number | null> {
    if (limitKey === null) return null;
    const used = (await this.#store.limitUse(queue, [limitKey]))?.keys[0];
    const { settings } = (await this.#store.queues()).find(({ name }) => name === queue) ?? {};
    if (used === undefined || settings === undefined) return null;
    const { waiting } = effectiveOf(decodeLimits(settings.limits), used);
    const inHand = held.seen.filter((job) => job.queue === queue && job.limitKey === limitKey).length;
    return waiting === null || used.waiting + inHand < waiting ? null : waiting;
  }

  async #answer(leases: readonly Lease[]): Promise<LeaseAnswer[]> {
    const found = await this.#store.find(leases.map(({ id }) => id));
    return leases.map(({ fence }, index) => {
      const job = found[index];
      if (job?.status === "running" && job.fence === fence) return "ok";
      return job?.status === "cancelled" ? "cancelled" : "stale";
    });
  }

  async #commit({ jobs, settlements, notes }: Held): Promise<void> {
    const answers = jobs.length === 0 ? [] : await this.#store.insert(jobs);
    for (const [index, answer] of answers.entries()) {
      const result = answerOf(jobs[index]!, answer);
      if (result instanceof MillraceError) throw result;
    }
    if (notes.length > 0) await this.#store.note(notes);
    if (settlements.length > 0) await this.#store.exchange(settlements, []);
  }

  #watchKeys(): void {
    const insert = this.#store.insert.bind(this.#store);
    this.#store.insert = async (jobs) => {
      const answers = await insert(jobs);
      answers.forEach(({ kind }, index) => {
        const key = keyOf(jobs[index]!);
        if (kind === "created" && key !== null) this.#keyed.set(key, jobs[index]!);
      });
      return answers;
    };
  }
}

/** A transaction inside another, such as a savepoint, ends with it. */
function join(outer: Held, inner: Held): void {
  outer.jobs.push(...inner.jobs);
  outer.settlements.push(...inner.settlements);
  outer.notes.push(...inner.notes);
}

function storedAs(job: NewJob, now: number): JobRecord {
  const runAt = Math.max(now, job.runAt ?? now + job.delayMs);
  return recordOf(job, runAt > now ? "scheduled" : "pending", now, runAt);
}

function keyOf({ queue, idempotencyKey }: NewJob): string | null {
  return idempotencyKey === null ? null : `${queue} ${idempotencyKey}`;
}
