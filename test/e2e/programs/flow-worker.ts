/** A worker process that runs members of flows. Each start and end is a line of a file. Arguments: store URL, path of the file. */
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { type Context, connect, stopOnSignals } from "millrace";

const [url, path] = process.argv.slice(2) as [string, string];
const client = await connect(url);

function note(op: "start" | "end", { flow, job }: Context, results: readonly string[]): void {
  appendFileSync(path, `${JSON.stringify({ op, flow: flow.id, name: flow.name, fence: job.fence, results })}\n`);
}

const worker = client.work(
  {
    async member(_payload, ctx) {
      const results = Object.keys(await ctx.flow.results()).toSorted();
      note("start", ctx, results);
      await pause(5);
      note("end", ctx, results);
      return ctx.flow.name;
    },
  },
  { queues: ["default", "slow"], concurrency: 20, lease: "1s", grace: "5s" },
);
stopOnSignals(client, { grace: "5s" });
console.log(`ready ${worker.id}`);
