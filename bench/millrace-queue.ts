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
}

/** A client with default options. */
export async function openMillrace(
  tree: Tree,
  { url }: { readonly url: string },
  { work: workOptions = {}, handlers = {}, limitKey }: MillraceSettings = {},
): Promise<MillraceQueue> {
  const client = await tree.connect(url);
  return {
    client,
    add: () => client.enqueue("bench", PAYLOAD),
    fill: (jobs) => enqueueMany(client, jobs, limitKey),
    work: async (load, onJobs) => client.work({ bench: handlerOf(load, onJobs), ...handlers }, { ...workOptions, concurrency: load.slots }),
    close: () => client.close(),
  };
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
