/** A worker process that does durable work. Each effect is a line of a file. Arguments: store URL, path of the file. */
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { type Context, connect, stopOnSignals } from "millrace";

const [url, path] = process.argv.slice(2) as [string, string];
const client = await connect(url);

/** Does something that others see, and takes a moment for it. */
async function effect(ctx: Context, name: string): Promise<{ name: string; attempt: number }> {
  await pause(2);
  appendFileSync(path, `${JSON.stringify({ job: ctx.job.id, name, fence: ctx.job.fence })}\n`);
  await pause(2);
  return { name, attempt: ctx.job.attempt };
}

const STEPS = 10;

const worker = client.work(
  {
    /** Ten steps, two sleeps, a wait and three calls at once. */
    async order(_payload, ctx) {
      const done: string[] = [];
      for (let number = 0; number < STEPS; number++) {
        const { name } = await ctx.step(`step ${number}`, () => effect(ctx, `step ${number}`));
        done.push(name);
        if (number === 2) await ctx.sleep("first", "20ms");
        if (number === 6) await ctx.sleep("second", "20ms");
      }
      const approval = await ctx.waitFor("approval", { timeout: "10m" });
      const parts = await Promise.all(
        [0, 1, 2].map((number) => ctx.call(`part ${number}`, "part", { number }, { maxLost: 100, retryDelay: "20ms" })),
      );
      return { done, approval, parts };
    },
    async part(payload, ctx) {
      await effect(ctx, "part");
      return payload;
    },
  },
  { concurrency: 20, lease: "1s", grace: "5s" },
);
stopOnSignals(client, { grace: "5s" });
console.log(`ready ${worker.id}`);
