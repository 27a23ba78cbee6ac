/** Enqueues jobs: `producer.ts URL JOBS`. */
import { connect } from "millrace";
import { byCallers, PAYLOAD } from "../workload.ts";
import { cpuSince, say, untilAllAreReady, WARM_UP_JOBS } from "./message.ts";

const [url, jobs] = process.argv.slice(2) as [string, string];
const client = await connect(url);
process.once("disconnect", () => void client.close());

const enqueue = (count: number, queue: string): Promise<void> => byCallers(100, count, () => client.enqueue("bench", PAYLOAD, { queue }));
await enqueue(WARM_UP_JOBS, "warm-up");
await untilAllAreReady();
const start = process.cpuUsage();
await enqueue(Number(jobs), "default");
say({ kind: "did", jobs: Number(jobs), at: Date.now(), cpuUs: cpuSince(start) });
