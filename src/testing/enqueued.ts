import { AssertionError } from "node:assert";
import { createdJob } from "../client/enqueue-answer.ts";
import { preview } from "../core/errors.ts";
import type { Job, NewJob } from "../core/job.ts";
import type { Store } from "../store/store.ts";

/** Which enqueued jobs are meant. Of a payload that is an object, only the properties named here have to be equal, at any depth. */
export interface EnqueuedFilter {
  readonly type?: string;
  readonly queue?: string;
  readonly payload?: unknown;
}

const SHOWN = 10;

/** Remembers every job that came into a store, as it came in, by enqueue or by a schedule. */
export class EnqueuedJobs {
  readonly #jobs: Job[] = [];

  constructor(store: Store, now: () => number) {
    this.#watchInsert(store);
    this.#watchTick(store, now);
  }

  /** Those that match, in the order in which they came. */
  list(filter: EnqueuedFilter = {}): Job[] {
    return this.#jobs.filter((job) => matches(job, filter));
  }

  /** The first that matches, or an error that shows what there is instead. */
  assert(filter: EnqueuedFilter): Job {
    const [first] = this.list(filter);
    if (first !== undefined) return first;
    throw new AssertionError({
      message: `no job was enqueued ${describeFilter(filter)}; ${this.#describe()}`,
      actual: this.#jobs.map(({ type, queue, payload }) => ({ type, queue, payload })),
      expected: filter,
      operator: "assertEnqueued",
    });
  }

  #watchInsert(store: Store): void {
    const insert = store.insert.bind(store);
    store.insert = async (jobs) => {
      const answers = await insert(jobs);
      answers.forEach((answer, index) => {
        if (answer.kind === "created") this.#add(jobs[index]!, answer.status, answer.createdAt, answer.runAt);
      });
      return answers;
    };
  }

  #watchTick(store: Store, now: () => number): void {
    const tick = store.tick.bind(store);
    store.tick = async (ticks) => {
      const answers = await tick(ticks);
      answers.forEach((answer, index) => {
        const job = ticks[index]!.job;
        if (answer === "ticked" && job !== null) this.#add(job, "pending", now(), now());
      });
      return answers;
    };
  }

  #add(job: NewJob, status: Job["status"], createdAt: number, runAt: number): void {
    const { created: _created, pruned: _pruned, ...plain } = createdJob(job, status, createdAt, runAt);
    this.#jobs.push(plain);
  }

  #describe(): string {
    if (this.#jobs.length === 0) return "nothing was enqueued at all";
    const shown = this.#jobs.slice(-SHOWN).map(({ type, queue, payload }) => `\n  ${type} in ${queue} with ${JSON.stringify(payload)}`);
    const more = this.#jobs.length > SHOWN ? `\n  and ${this.#jobs.length - SHOWN} before them` : "";
    return `these were:${shown.join("")}${more}`;
  }
}

function describeFilter({ type, queue, payload }: EnqueuedFilter): string {
  const parts = [
    type === undefined ? "" : `of type ${type}`,
    queue === undefined ? "" : `in queue ${queue}`,
    payload === undefined ? "" : `with payload ${JSON.stringify(payload) ?? preview(payload)}`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function matches(job: Job, { type, queue, payload }: EnqueuedFilter): boolean {
  return (type === undefined || job.type === type) && (queue === undefined || job.queue === queue) && contains(job.payload, payload);
}

function contains(actual: unknown, expected: unknown): boolean {
  if (expected === undefined || Object.is(actual, expected)) return true;
  if (typeof expected !== "object" || expected === null || typeof actual !== "object" || actual === null) return false;
  if (Array.isArray(expected)) {
    return Array.isArray(actual) && actual.length === expected.length && expected.every((item, index) => contains(actual[index], item));
  }
  const own = actual as Record<string, unknown>;
  return Object.entries(expected).every(([key, value]) => Object.hasOwn(own, key) && contains(own[key], value));
}
