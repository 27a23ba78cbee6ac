/** Two customers share a queue: each runs one job at a time, and they take turns, although one came first with many. */
import { connect } from "millrace";

const client = await connect("memory:");
await client.configure("reports", { limits: { running: 4, perKey: { running: 1 } } });

const jobs = [];
for (let number = 1; number <= 4; number++) jobs.push(await client.enqueue("report", { number }, { queue: "reports", limitKey: "globex" }));
jobs.push(await client.enqueue("report", { number: 1 }, { queue: "reports", limitKey: "acme" }));

const order: string[] = [];
const worker = client.work(
  {
    report: async ({ number }: { number: number }, { job }) => {
      order.push(`${job.limitKey} ${number}`);
      await new Promise((done) => setTimeout(done, 20));
    },
  },
  { queues: ["reports"], concurrency: 4 },
);

for (const { id } of jobs) await client.wait(id);
console.log(order.join(", "));
console.log("acme waited for one job at most:", order.indexOf("acme 1") <= 1);

await worker.stop();
await client.close();
