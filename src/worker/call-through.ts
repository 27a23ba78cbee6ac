import type { Context, HandleMiddleware } from "../client/client.ts";
import type { Job } from "../core/job.ts";

/** Calls middleware, the first outermost, and in the end `last` with the job and the payload that the innermost handed on. */
export async function callThrough(middleware: readonly HandleMiddleware[], ctx: Context, last: (job: Job) => unknown): Promise<unknown> {
  const { job } = ctx;
  // A copy: middleware that is used while this attempt runs is for the next one.
  const used = [...middleware];
  const run = async (index: number, payload: unknown): Promise<unknown> => {
    const next = used[index];
    if (next === undefined) return last(payload === job.payload ? job : { ...job, payload });
    return next(payload, ctx, (changed) => run(index + 1, changed));
  };
  return run(0, job.payload);
}
