/** A worker process of a run: does what the payloads say, and writes down each start and end of a handler. Argument: MemberWishes as JSON. */
import type { WorkerHandle } from "../../../src/client/client.ts";
import { ALL_DELIVERIES, WEBHOOK_TYPE } from "../../../src/core/delivery.ts";
import type { Job } from "../../../src/core/job.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { Seen } from "../../history/line.ts";
import { scriptedHandler } from "../../simulation/handler.ts";
import { stopWorker } from "../../simulation/stop-worker.ts";
import { DELIVERY_SLOTS, GRACE_MS, QUEUES } from "../jobs.ts";
import { deliveryHandler } from "./delivery-handler.ts";
import { enqueueOne } from "./enqueue.ts";
import { join, untilStopped } from "./member.ts";
import { transactOn } from "./transact.ts";

const POLL_MS = 1_000;
const PULSE_EVERY_MS = 100;

const { wishes, client, recorder } = await join();
const { slots, leaseMs } = wishes;
const queues = Object.keys(QUEUES);
const manner = { lease: leaseMs, grace: GRACE_MS };

async function spawnChild({ id, fence, type, queue }: Job): Promise<void> {
  const job = { type, queue, payload: { tag: `child of ${id} ${fence}`, steps: [["ok", 5]] as const } };
  if ((await enqueueOne(client, recorder, job)) === null) throw new Error("the child could not be enqueued");
}

function announce(worker: WorkerHandle, its: Pick<Seen["up"], "slots" | "queues" | "types" | "asksForQueues">): void {
  recorder.see("up", { worker: worker.id, ...its, leaseMs, pollMs: POLL_MS });
}

/** Ends the process, which the run takes for broken. */
function broken(error: Error): void {
  setImmediate(() => {
    throw error;
  });
}

const handler = scriptedHandler(recorder, systemClock, { spawn: spawnChild, transact: transactOn(wishes.url), broken });
const worker = client.work({ "*": handler }, { ...manner, queues, concurrency: slots });
announce(worker, { slots, queues, types: "*" });
const deliverer = client.work(
  { [WEBHOOK_TYPE]: deliveryHandler(recorder) },
  { ...manner, queues: [ALL_DELIVERIES], concurrency: DELIVERY_SLOTS },
);
announce(deliverer, { slots: DELIVERY_SLOTS, queues: queues.map(deliveriesOf), types: [WEBHOOK_TYPE], asksForQueues: true });
setInterval(() => recorder.see("pulse", {}), PULSE_EVERY_MS).unref();

async function stop(one: WorkerHandle): Promise<void> {
  recorder.see("stopping", { worker: one.id, graceMs: GRACE_MS });
  await stopWorker(one, GRACE_MS);
  recorder.see("stopped", { worker: one.id });
}

untilStopped(async () => {
  await Promise.all([worker, deliverer].map(stop));
  await client.close({ grace: 0 });
});

function deliveriesOf(queue: string): string {
  return ALL_DELIVERIES.replace("*", queue);
}
