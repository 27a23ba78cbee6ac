/** Runs waiting jobs until its parent disconnects: `consumer.ts URL`. */
import { connect } from "millrace";
import { PAYLOAD } from "../workload.ts";
import { cpuSince, say, untilAllAreReady, WARM_UP_JOBS } from "./message.ts";

const TELL_MS = 10;

const [url] = process.argv.slice(2) as [string];
const client = await connect(url);
process.once("disconnect", () => void client.close());

await warmUp(`warm-up-${process.pid}`);
await untilAllAreReady();

const start = process.cpuUsage();
let jobs = 0;
let at = 0;
const run = async (): Promise<void> => {
  jobs++;
  at = Date.now();
};
client.work({ bench: run }, { concurrency: 100 });

let reported = 0;
const teller = setInterval(() => {
  if (jobs > reported && process.connected) say({ kind: "did", jobs: (reported = jobs), at, cpuUs: cpuSince(start) });
}, TELL_MS);
process.once("disconnect", () => clearInterval(teller));

async function warmUp(queue: string): Promise<void> {
  await client.enqueueMany(Array.from({ length: WARM_UP_JOBS }, () => ({ type: "bench", payload: PAYLOAD, queue })));
  const finished = Promise.withResolvers<void>();
  let count = 0;
  const run = async (): Promise<void> => void (++count === WARM_UP_JOBS && finished.resolve());
  const worker = client.work({ bench: run }, { concurrency: 100, queues: [queue] });
  await finished.promise;
  await worker.stop();
}
