/** A producer process for the tests. Arguments: store URL, path of the ledger, how many jobs, job options as JSON. */
import { appendFileSync } from "node:fs";
import { connect, type EnqueueOptions } from "millrace";

const [url, ledger, count, json = "{}"] = process.argv.slice(2) as [string, string, string, string?];
const client = await connect(url);
const options = JSON.parse(json) as EnqueueOptions;

let next = 0;
const callers = Array.from({ length: 20 }, async () => {
  while (next < Number(count)) {
    const number = next++;
    const job = await client.enqueue("task", { number }, options);
    appendFileSync(ledger, `${JSON.stringify({ op: "accepted", id: job.id, number })}\n`);
  }
});
await Promise.all(callers);
await client.close();
console.log("done");
