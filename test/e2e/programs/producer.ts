/** A producer process for the tests. Arguments: store URL, path of the ledger, how many jobs, job options as JSON. */
import { connect, type EnqueueOptions } from "millrace";
import { fileLedger } from "../../faults/ledger.ts";

const [url, path, count, json = "{}"] = process.argv.slice(2) as [string, string, string, string?];
const client = await connect(url);
const ledger = fileLedger(path);
const options = JSON.parse(json) as EnqueueOptions;

let next = 0;
const callers = Array.from({ length: 20 }, async () => {
  while (next < Number(count)) {
    const number = next++;
    const { id } = await client.enqueue("task", { number }, options);
    ledger.note({ op: "accepted", number, id });
  }
});
await Promise.all(callers);
await client.close();
console.log("done");
