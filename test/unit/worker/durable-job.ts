import type { Client, Context, WorkerHandle, WorkOptions } from "../../../src/client/client.ts";
import type { Duration } from "../../../src/core/duration.ts";
import type { JobOptions } from "../../../src/core/job-options.ts";
import type { Job } from "../../../src/core/job.ts";
import { DAY_MS } from "../../../src/core/time-units.ts";
import { type Opened, openClient } from "../client/open-client.ts";

/** In memory no hint is lost: with long rests, a day passes as fast as a second. */
const RESTS_MS = { promote: DAY_MS, reclaim: DAY_MS, recur: DAY_MS, prune: DAY_MS, rerank: DAY_MS, deliver: DAY_MS };

type Run = (ctx: Context, client: Client) => unknown;

/** A client with a clock turned by hand, and one job whose handler the test can replace, as a deploy does. */
export interface DurableJob extends Opened {
  readonly id: string;
  readonly worker: WorkerHandle;
  /** From its next attempt on, the job runs this. */
  readonly deploy: (run: Run) => void;
  /** Lets this much time pass, and returns the job as it is then. */
  readonly after: (time?: Duration) => Promise<Job>;
  /** The steps of the job: `kind name state value`. */
  readonly steps: () => Promise<string[]>;
}

type Options = Parameters<typeof openClient>[0] & { readonly job?: JobOptions; readonly work?: WorkOptions };

/** Starts a worker and a job of type `long`, and lets the job run until it waits or ends. Others of the test are of type `other`. */
export async function startDurable(run: Run, options: Options = {}, other: Run = () => null): Promise<DurableJob> {
  const { job, work, ...rest } = options;
  const opened = await openClient({ restsMs: RESTS_MS, pollMs: DAY_MS, hintsApartMs: 0, ...rest });
  const { client, clock } = opened;
  let current = run;
  const worker = client.work({ long: (_, ctx) => current(ctx, client), other: (_, ctx) => other(ctx, client) }, work);
  const { id } = await client.enqueue("long", null, job);
  const after = async (time: Duration = 0): Promise<Job> => {
    await clock.settle();
    await clock.settle(); // A step is stored, then the attempt is suspended, then reported: more turns of the event loop than one settling waits for.
    await clock.advance(time);
    await clock.settle();
    return (await client.get(id))!;
  };
  await after();
  return { ...opened, id, worker, deploy: (next) => void (current = next), after, steps: () => stepsOf(client, id) };
}

export async function stepsOf(client: Client, id: string): Promise<string[]> {
  return (await client.steps(id)).map(({ kind, name, state, value }) => `${kind} ${name} ${state} ${JSON.stringify(value)}`);
}

/** A promise that the test settles. */
export type Gate = PromiseWithResolvers<unknown>;
export const gate = (): Gate => Promise.withResolvers<unknown>();
