import { AssertionError } from "node:assert";
import type { JobDefinition } from "../client/client.ts";
import { createdJob } from "../client/enqueue-answer.ts";
import { readListQuery } from "../client/filter.ts";
import { readId, readOptions } from "../client/refusals.ts";
import { invalid, preview } from "../core/errors.ts";
import { isInternalQueue } from "../core/internal.ts";
import type { Job, NewJob, PriorityLevel } from "../core/job.ts";
import { readType } from "../core/read-fields.ts";
import type { Store } from "../store/store.ts";

/** Selects enqueued jobs. If the payload is an object, only the properties given here have to be equal, at any depth. */
export interface EnqueuedFilter {
  readonly type?: string | JobDefinition<unknown> | undefined;
  readonly queue?: string | undefined;
  readonly payload?: unknown;
  /** One of its tags. */
  readonly tag?: string | undefined;
  /** A level (critical: 20 and more, high: 10..19, default: 0..9, low: below 0) or an exact priority. */
  readonly priority?: PriorityLevel | number | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly limitKey?: string | undefined;
  /** The id of the job that called it, by `ctx.call`. */
  readonly calledBy?: string | undefined;
  /** The id of the flow that it is a member of. */
  readonly flow?: string | undefined;
}

const FILTER_FIELDS = ["type", "queue", "payload", "tag", "priority", "idempotencyKey", "limitKey", "calledBy", "flow"] as const;
const SHOWN = 10;

/** Records every job that is inserted, by enqueue, by a schedule, by a call or by a flow, as it was then. Internal jobs are left out. */
export class EnqueuedJobs {
  readonly #jobs: Job[] = [];

  constructor(store: Store, now: () => number) {
    this.#watchInsert(store);
    this.#watchTick(store, now);
    this.#watchCalls(store, now);
  }

  /** The jobs that match, in order. */
  list(filter?: EnqueuedFilter): Job[] {
    return this.#jobs.filter(matcherOf(filter));
  }

  /** The first job that matches. Throws an error that lists what was enqueued instead. */
  assert(filter: EnqueuedFilter): Job {
    const [first] = this.list(filter);
    if (first !== undefined) return first;
    throw new AssertionError({
      message: `no job${describeFilter(filter)} was enqueued; ${describeJobs(this.#jobs)}`,
      actual: this.#jobs.map(({ type, queue, payload }) => ({ type, queue, payload })),
      expected: filter,
      operator: "assertEnqueued",
    });
  }

  /** Throws an error that lists the jobs that match. */
  assertNone(filter?: EnqueuedFilter): void {
    const found = this.list(filter);
    if (found.length === 0) return;
    throw new AssertionError({
      message: `a job${describeFilter(filter ?? {})} was enqueued; ${describeJobs(found)}`,
      actual: found.map(({ type, queue, payload }) => ({ type, queue, payload })),
      expected: [],
      operator: "assertNotEnqueued",
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

  /** A job that is called again, by a retry of its caller, is the same job. */
  #watchCalls(store: Store, now: () => number): void {
    const exchange = store.exchange.bind(store);
    const known = new Set<string>();
    store.exchange = async (settlements, claims) => {
      const answers = await exchange(settlements, claims);
      const calls = settlements.flatMap(({ calls: own = [] }, index) => (answers.settled[index] === "ok" ? own : []));
      for (const job of calls.filter(({ id }) => !known.has(id))) {
        known.add(job.id);
        const runAt = Math.max(now(), job.runAt ?? now() + job.delayMs);
        this.#add(job, runAt > now() ? "scheduled" : "pending", now(), runAt);
      }
      return answers;
    };
  }

  #add(job: NewJob, status: Job["status"], createdAt: number, runAt: number): void {
    if (isInternalQueue(job.queue)) return;
    const { created: _created, pruned: _pruned, ...plain } = createdJob(job, status, createdAt, runAt);
    this.#jobs.push(plain);
  }
}

function describeJobs(jobs: readonly Job[]): string {
  if (jobs.length === 0) return "nothing was enqueued at all";
  const shown = jobs.slice(-SHOWN).map(({ type, queue, payload }) => `\n  ${type} in ${queue} with ${JSON.stringify(payload)}`);
  const more = jobs.length > SHOWN ? `\n  and ${jobs.length - SHOWN} before them` : "";
  return `these were:${shown.join("")}${more}`;
}

function describeFilter({ type, queue, payload, tag, priority, idempotencyKey, limitKey, calledBy, flow }: EnqueuedFilter): string {
  const parts = [
    type === undefined ? "" : ` of type ${String(nameOf(type))}`,
    queue === undefined ? "" : ` in queue ${queue}`,
    payload === undefined ? "" : ` with payload ${JSON.stringify(payload) ?? preview(payload)}`,
    tag === undefined ? "" : ` with tag ${tag}`,
    priority === undefined ? "" : ` with priority ${priority}`,
    idempotencyKey === undefined ? "" : ` with idempotencyKey ${idempotencyKey}`,
    limitKey === undefined ? "" : ` with limitKey ${limitKey}`,
    calledBy === undefined ? "" : ` called by ${calledBy}`,
    flow === undefined ? "" : ` in flow ${flow}`,
  ];
  return parts.join("");
}

/** Checks the filter as `list` does: a misspelt one would find nothing, and the test would blame the code under test. */
function matcherOf(filter: EnqueuedFilter | undefined): (job: Job) => boolean {
  const given = readOptions(filter, "a filter of enqueued jobs", FILTER_FIELDS);
  const { type, queue, payload, tag, priority, limitKey, idempotencyKey: key, calledBy, flow } = given;
  if (key !== undefined && typeof key !== "string") throw invalid("idempotencyKey", "a string", key);
  const caller = calledBy === undefined ? undefined : readId(calledBy);
  const asked = readListQuery({ type: type === undefined ? undefined : readType(nameOf(type)), queue, tag, priority, limitKey, flow });
  return (job) =>
    (asked.type === undefined || job.type === asked.type) &&
    (asked.queue === undefined || job.queue === asked.queue) &&
    (asked.tag === undefined || job.tags.includes(asked.tag)) &&
    (asked.priority === undefined || (job.priority >= asked.priority.min && job.priority <= asked.priority.max)) &&
    (asked.limitKey === undefined || job.limitKey === asked.limitKey) &&
    (key === undefined || job.idempotencyKey === key) &&
    (caller === undefined || job.parent?.id === caller) &&
    (flow === undefined || job.flow?.id === flow) &&
    contains(job.payload, payload);
}

function nameOf(type: unknown): unknown {
  return typeof type === "object" && type !== null ? (type as { type?: unknown }).type : type;
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
