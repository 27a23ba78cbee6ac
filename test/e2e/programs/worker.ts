/**
 * A worker process for the tests. Arguments: store URL, path of the ledger, options as JSON.
 * Each line of the ledger is one `write` with O_APPEND, so that a SIGKILL loses nothing that was written.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, stopOnSignals } from "millrace";

const [url, ledger, json = "{}"] = process.argv.slice(2) as [string, string, string?];
const options = JSON.parse(json) as {
  runMs?: number;
  stubborn?: boolean;
  concurrency?: number;
  lease?: `${number}s`;
  grace?: `${number}s`;
};

const client = await connect(url);
const note = (line: object): void => appendFileSync(ledger, `${JSON.stringify({ pid: process.pid, ...line })}\n`);

const worker = client.work(
  {
    task: async (payload, ctx) => {
      const { id, attempt, fence } = ctx.job;
      note({ op: "start", id, attempt, fence, payload });
      await sleep(options.runMs ?? 1, undefined, options.stubborn ? {} : { signal: ctx.signal });
      note({ op: "end", id, attempt, fence });
      return { attempt, fence, worker: worker.id };
    },
    block: async (_payload, ctx) => {
      note({ op: "start", id: ctx.job.id, attempt: ctx.job.attempt, fence: ctx.job.fence });
      const until = performance.now() + (options.runMs ?? 1);
      while (performance.now() < until); // what a handler should not do, and some do
      note({ op: "end", id: ctx.job.id, attempt: ctx.job.attempt, fence: ctx.job.fence });
      return { attempt: ctx.job.attempt, fence: ctx.job.fence, worker: worker.id };
    },
  },
  { concurrency: options.concurrency ?? 10, lease: options.lease ?? "1s", grace: options.grace ?? "30s" },
);
stopOnSignals(client, { grace: options.grace ?? "30s" });
note({ op: "ready", worker: worker.id });
console.log(`ready ${worker.id}`);
