/** A worker process of a run: does what the payloads say, and writes down each start and end of a handler. Argument: MemberWishes as JSON. */
import type { Job } from "../../../src/core/job.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { scriptedHandler } from "../../simulation/handler.ts";
import { GRACE_MS, LEASE_MS, QUEUES, SLOTS } from "../jobs.ts";
import { enqueueOne } from "./enqueue.ts";
import { join, untilStopped } from "./member.ts";

const POLL_MS = 1_000;

const { client, recorder } = await join();
const queues = Object.keys(QUEUES);

async function spawnChild({ id, fence, type, queue }: Job): Promise<void> {
  const job = { type, queue, payload: { tag: `child of ${id} ${fence}`, steps: [["ok", 5]] as const } };
  if ((await enqueueOne(client, recorder, job)) === null) throw new Error("the child could not be enqueued");
}

const worker = client.work(
  { "*": scriptedHandler(recorder, systemClock, spawnChild) },
  { queues, concurrency: SLOTS, lease: LEASE_MS, grace: GRACE_MS },
);
recorder.see("up", { worker: worker.id, slots: SLOTS, queues, types: "*", leaseMs: LEASE_MS, pollMs: POLL_MS });

untilStopped(async () => {
  recorder.see("stopping", { worker: worker.id, graceMs: GRACE_MS });
  await worker.stop({ grace: GRACE_MS });
  recorder.see("stopped", { worker: worker.id });
  await client.close({ grace: 0 });
});
