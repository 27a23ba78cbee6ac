import type { Client, EnqueueItem, Handler, WorkOptions } from "../src/index.ts";
import { inBatches } from "./measure/call.ts";
import { PAYLOAD } from "./payload.ts";
import { handlerOf, type Queue } from "./queue.ts";
import type { Tree } from "./tree.ts";

/** Ours, with the interface of all measured queues. */
export interface MillraceQueue extends Queue {
  readonly client: Client;
}

/** Other than the defaults. */
export interface MillraceSettings {
  readonly work?: WorkOptions;
  /** Beside the handler of the bench. */
  readonly handlers?: Readonly<Record<string, Handler>>;
  /** The limit key of each job that is filled in, by its number from 0. */
  readonly limitKey?: (job: number) => string;
  /** How many steps the handler of the bench stores. */
  readonly steps?: number;
  /** Jobs are filled in as members of flows, so many in each, with one more that runs after them. */
  readonly membersOfFlow?: number;
  /** How many workers share the slots, each with claims of its own. */
  readonly workers?: number;
}

/** A client with default options. */
export async function openMillrace(
  tree: Tree,
  { url }: { readonly url: string },
  { work: workOptions = {}, handlers = {}, limitKey, steps = 0, membersOfFlow, workers = 1 }: MillraceSettings = {},
): Promise<MillraceQueue> {
  const client = await tree.connect(url);
  const flows: string[] = [];
  return {
    client,
    add: () => client.enqueue("bench", PAYLOAD),
    fill: async (jobs) => {
      if (membersOfFlow === undefined) return enqueueMany(client, jobs, limitKey);
      flows.push(...(await createFlows(client, jobs, membersOfFlow)));
    },
    work: async (load, onJobs) => {
      const bench = withSteps(steps, handlerOf(load, onJobs));
      const concurrency = Math.ceil(load.slots / workers);
      const all = Array.from({ length: workers }, () =>
        client.work({ bench, callback: async () => {}, ...handlers }, { ...workOptions, concurrency }),
      );
      const settled = async (): Promise<void> => {
        for (const id of flows.splice(0)) await client.flows.wait(id);
      };
      return { settled, stop: async () => void (await Promise.all(all.map((worker) => worker.stop()))) };
    },
    close: () => client.close(),
  };
}

function withSteps(steps: number, handler: () => Promise<void>): Handler {
  if (steps === 0) return handler;
  return async (_payload, ctx) => {
    for (let step = 0; step < steps; step++) await ctx.step(`step ${step}`, () => step);
    await handler();
  };
}

async function createFlows(client: Client, jobs: number, membersOfFlow: number): Promise<string[]> {
  const ids: string[] = [];
  await inBatches(jobs, { batch: membersOfFlow, inFlight: 1 }, async (size) => {
    const members = Array.from({ length: size }, (_, index) => ({ name: `member ${index}`, type: "bench", payload: PAYLOAD }));
    const { id } = await client.flow([...members, { name: "callback", type: "callback", after: "*" }]);
    ids.push(id);
  });
  return ids;
}

/** Two calls at once, as the other queues get them. A call inserts one part after the other, so that jobs keep their order. */
async function enqueueMany(client: Client, jobs: number, limitKey: MillraceSettings["limitKey"]): Promise<void> {
  let job = 0;
  const itemOf = (): EnqueueItem => ({ type: "bench", payload: PAYLOAD, ...(limitKey === undefined ? {} : { limitKey: limitKey(job++) }) });
  await inBatches(jobs, { batch: 5_000, inFlight: 2 }, async (size) => {
    const items = Array.from({ length: size }, itemOf);
    const refused = (await client.enqueueMany(items)).find((result) => !result.ok);
    if (refused !== undefined) throw refused.error;
  });
}
