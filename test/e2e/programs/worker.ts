/** A worker process for the tests. Arguments: store URL, path of the ledger, options as JSON. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { type Context, connect, stopOnSignals } from "millrace";
import { fileLedger } from "../../faults/ledger.ts";

const [url, path, json = "{}"] = process.argv.slice(2) as [string, string, string?];
const options = JSON.parse(json) as {
  runMs?: number;
  stubborn?: boolean;
  concurrency?: number;
  lease?: `${number}s`;
  grace?: `${number}s`;
  deadline?: `${number}s`;
};

/** The thread that keeps leases is started by the first of them, and says a word when it has begun. */
const keeperReady = new Promise<void>((resolve) => {
  process.once("worker", (thread: Worker) => {
    thread.once("message", () => resolve());
    thread.unref();
  });
});

const client = await connect(url, { deadline: options.deadline ?? "10s" });
const ledger = fileLedger(path);

/** Writes down when an attempt begins and ends. */
async function attempt(ctx: Context, run: () => unknown): Promise<object> {
  const { id, attempt, fence } = ctx.job;
  ledger.note({ op: "start", id, attempt, fence });
  await run();
  ledger.note({ op: "end", id, attempt, fence });
  return { attempt, fence, worker: worker.id };
}

const worker = client.work(
  {
    task: (_payload, ctx) => attempt(ctx, () => sleep(options.runMs ?? 1, undefined, options.stubborn ? {} : { signal: ctx.signal })),
    block: (_payload, ctx) =>
      attempt(ctx, async () => {
        // On a slow machine the thread takes longer to start than this short lease lasts.
        await keeperReady;
        // What a handler should not do, and some do; here without burning the processor, which others want to use.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, options.runMs);
      }),
    // Brings its process down, and all that runs in it.
    poison: (_payload, ctx) =>
      attempt(ctx, async () => {
        await sleep(100);
        process.kill(process.pid, "SIGKILL");
      }),
  },
  { concurrency: options.concurrency ?? 10, lease: options.lease ?? "1s", grace: options.grace ?? "30s" },
);
stopOnSignals(client, { grace: options.grace ?? "30s" });
ledger.note({ op: "ready", worker: worker.id });
console.log(`ready ${worker.id}`);
