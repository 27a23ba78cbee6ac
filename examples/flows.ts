/** A nightly import as a flow: it finds its files on the way, one of them fails, and a retry by hand goes on where it stopped. */
import { connect, Discard } from "millrace";

const client = await connect("memory:", { onTrouble: ({ message }) => console.log(message) });
let isUploaded = false;

const worker = client.work({
  "import:scan": async (_, ctx) => {
    const files = ["customers.csv", "orders.csv"];
    await ctx.flow.add(files.map((file) => ({ name: file, type: "import:file", payload: { file }, after: "scan" })));
  },
  "import:file": async ({ file }: { file: string }) => {
    if (file === "orders.csv" && !isUploaded) throw new Discard("the file is empty");
    return file.length;
  },
  // After all others, also those that were added.
  "import:done": async (_, ctx) => {
    const { scan: _scan, ...files } = await ctx.flow.results();
    return `imported ${Object.keys(files).sort().join(" and ")}`;
  },
});

const start = () =>
  client.flow(
    [
      { name: "scan", type: "import:scan" },
      { name: "done", type: "import:done", after: "*" },
    ],
    { key: "import of 1 March" },
  );
const flow = await start();
console.log("started twice, one flow:", (await start()).id === flow.id);

const failed = await client.flows.wait(flow.id);
console.log(`${failed.status}: ${failed.completed} completed, ${failed.failed} failed, ${failed.cancelled} cancelled`);

isUploaded = true;
await client.flows.retry(flow.id);
const { status, members } = await client.flows.wait(flow.id);
console.log(`${status}: ${members} members`);
console.log((await client.get(flow.jobs["done"]!))?.result);

await worker.stop();
await client.close();
