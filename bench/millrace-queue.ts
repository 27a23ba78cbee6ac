import type { Client, Handler, WorkOptions } from "../src/index.ts";
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
}

/** A client with default options. */
export async function openMillrace(
  tree: Tree,
  { url }: { readonly url: string },
  { work: workOptions = {}, handlers = {} }: MillraceSettings = {},
): Promise<MillraceQueue> {
  const client = await tree.connect(url);
  return {
    client,
    add: () => client.enqueue("bench", PAYLOAD),
    fill: (jobs) => enqueueMany(client, jobs),
    work: async (load, onJobs) => client.work({ bench: handlerOf(load, onJobs), ...handlers }, { ...workOptions, concurrency: load.slots }),
    close: () => client.close(),
  };
}

const AT_ONCE = 10_000;

async function enqueueMany(client: Client, jobs: number): Promise<void> {
  for (let done = 0; done < jobs; done += AT_ONCE) {
    const items = Array.from({ length: Math.min(AT_ONCE, jobs - done) }, () => ({ type: "bench", payload: PAYLOAD }));
    const refused = (await client.enqueueMany(items)).find((result) => !result.ok);
    if (refused !== undefined) throw refused.error;
  }
}
