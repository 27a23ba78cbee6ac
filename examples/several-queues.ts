/** One worker for several queues with weights, a paused queue, and a queue with a capacity. */
import { connect, MillraceError } from "millrace";

const client = await connect("memory:");
await client.configure("uploads", { capacity: 2 });
await client.pause("mail", { create: true }); // the queue does not exist yet: without create, this would fail

for (let number = 1; number <= 3; number++) {
  await client.enqueue("mail:send", { number }, { queue: "mail" });
  try {
    await client.enqueue("upload:store", { number }, { queue: "uploads" });
  } catch (error) {
    if (error instanceof MillraceError && error.code === "queue_full") console.log(`upload ${number}: ${error.message}`);
    else throw error;
  }
}

const done: string[] = [];
const worker = client.work(
  {
    "mail:send": async ({ number }: { number: number }) => void done.push(`mail ${number}`),
    "upload:store": async ({ number }: { number: number }) => void done.push(`upload ${number}`),
  },
  { queues: { mail: 3, uploads: 1 }, concurrency: { min: 1, max: 20 } },
);

for (const job of (await client.list({ queue: "uploads" })).jobs) await client.wait(job.id);
console.log("while mail is paused:", done);
await client.resume("mail");
for (const job of (await client.list({ queue: "mail" })).jobs) await client.wait(job.id);
console.log("after resume:", done);

await worker.stop();
await client.close();
