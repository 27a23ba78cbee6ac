import { type Client, connect } from "millrace";
import type { Queue } from "./queue.ts";
import { PAYLOAD } from "./workload.ts";

/** Ours, with the interface of all measured queues. */
export interface MillraceQueue extends Queue {
  readonly client: Client;
}

/** A client with default options. */
export async function openMillrace({ url }: { readonly url: string }): Promise<MillraceQueue> {
  const client = await connect(url);
  return {
    client,
    add: () => client.enqueue("bench", PAYLOAD),
    fill: (jobs) => enqueueMany(client, jobs),
    async work(slots, onJob) {
      const worker = client.work({ bench: async () => onJob() }, { concurrency: slots });
      return { stop: () => worker.stop() };
    },
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
