/**
 * BATCH HANDLERS. To a worker, a batch handler is a handler like any other: it is called once for each job, so each job has its own slot, lease,
 * attempt and timeout. Here these calls are gathered, and your function gets many jobs at once. Its outcome for a job ends the call for that job.
 */
import { invalid, preview } from "../core/errors.ts";
import type { Job } from "../core/job.ts";
import { demandInteger, readDuration, readFields } from "../core/read-fields.ts";
import { MAX_BATCH } from "../core/work-limits.ts";
import { type BatchContext, type BatchHandler, type BatchOptions, type Context, type Handler, IS_ABORTED, IS_OF_MANY } from "./client.ts";

const USUAL_SIZE = 100;
/** Not more than workers allow an aborted handler: a job that waits here does not see that it was aborted. */
const MAX_WAIT_MS = 5000;

/** One call for one job. */
interface Call {
  readonly ctx: Context;
  /** Each ends the call. What comes after the first has no effect. */
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes a handler for single jobs of one for many. Throws `invalid_input` if an argument is wrong. */
export function gatherJobs(handler: BatchHandler, options: BatchOptions = {}): Handler {
  if (typeof handler !== "function") throw invalid("handler", "a function", handler);
  const { size = USUAL_SIZE, wait = 0 } = readFields(options, "the options of handleMany", ["size", "wait"]);
  const most = demandInteger(size, "size", 1, MAX_BATCH);
  const waitMs = readDuration(wait, "wait", 'a time of at most 5 s, in milliseconds or as "50ms"', MAX_WAIT_MS);
  let waiting: Call[] = [];
  let timer: NodeJS.Timeout | NodeJS.Immediate | null = null;

  const runNow = (): void => {
    if (timer !== null) (waitMs === 0 ? clearImmediate : clearTimeout)(timer as never);
    timer = null;
    const calls = waiting.filter(isWanted);
    waiting = [];
    if (calls.length > 0) void runBatch(handler, calls);
  };

  return (_payload, ctx) =>
    new Promise((resolve, reject) => {
      (ctx as { readonly [IS_OF_MANY]?: () => void })[IS_OF_MANY]?.();
      waiting.push({ ctx, resolve, reject });
      if (waiting.length >= most) return runNow();
      // A worker starts all jobs of a claim in one turn of the event loop.
      timer ??= waitMs === 0 ? setImmediate(runNow) : setTimeout(runNow, waitMs);
    });
}

/** A job that was aborted before it started: its worker decides what follows. */
function isWanted({ ctx, reject }: Call): boolean {
  const isAborted = (ctx as { readonly [IS_ABORTED]?: boolean })[IS_ABORTED] ?? ctx.signal.aborted;
  if (isAborted) reject(ctx.signal.reason);
  return !isAborted;
}

async function runBatch(handler: BatchHandler, calls: readonly Call[]): Promise<void> {
  const batch = new Batch(calls);
  try {
    const jobs = calls.map(({ ctx }) => ctx.job);
    batch.end(jobs, await handler(jobs, batch));
  } catch (error) {
    for (const { reject } of calls) reject(error);
  }
}

class Batch implements BatchContext {
  readonly #calls: ReadonlyMap<Job, Call>;
  #controller: AbortController | null = null;

  constructor(calls: readonly Call[]) {
    this.#calls = new Map(calls.map((call) => [call.ctx.job, call]));
  }

  get signal(): AbortSignal {
    if (this.#controller !== null) return this.#controller.signal;
    const controller = new AbortController();
    const signals = [...this.#calls.values()].map(({ ctx }) => ctx.signal);
    const look = (): void => {
      if (signals.every(({ aborted }) => aborted)) controller.abort(signals.at(-1)!.reason);
    };
    for (const signal of signals) signal.addEventListener("abort", look, { once: true });
    look();
    this.#controller = controller;
    return controller.signal;
  }

  readonly of = (job: Job): Context => this.#callOf(job).ctx;

  readonly settle = (job: Job, outcome?: unknown): void => {
    const { resolve, reject } = this.#callOf(job);
    if (outcome instanceof Error) reject(outcome);
    else resolve(outcome);
  };

  /** Ends what has no outcome yet. */
  end(jobs: readonly Job[], outcomes: unknown): void {
    const isList = Array.isArray(outcomes);
    if (isList ? outcomes.length !== jobs.length : outcomes !== undefined && outcomes !== null) {
      const got = isList ? `a list of ${outcomes.length}` : preview(outcomes);
      throw new TypeError(`a batch handler must return a list with an outcome for each of its ${jobs.length} jobs, or nothing; got ${got}`);
    }
    jobs.forEach((job, index) => this.settle(job, isList ? outcomes[index] : undefined));
  }

  #callOf(job: Job): Call {
    const call = this.#calls.get(job);
    if (call === undefined) throw invalid("job", "one of the jobs of this batch", job);
    return call;
  }
}
