/**
 * A queue on a SQLite file in a temporary folder. Some jobs succeed, some need a second attempt, and one becomes a dead letter until it is
 * retried by hand.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, stopOnSignals } from "millrace";

const folder = await mkdtemp(join(tmpdir(), "millrace-demo-"));
const client = await connect(`sqlite:${join(folder, "demo.db")}`, { onTrouble: ({ message }) => console.log(`  ${message}`) });
stopOnSignals(client);

console.log("A queue on one SQLite file. Twelve e-mails: two to a server that is down for a moment, one to an invalid address.\n");

let serverIsUp = false;
let addressIsFixed = false;
const worker = client.work(
  {
    "email:send": async ({ to }: { to: string }, ctx) => {
      ctx.progress(50, "connecting");
      if (to.endsWith("@slow.example") && !serverIsUp) throw new Error("connection refused");
      if (to === "nobody" && !addressIsFixed) throw new Error('"nobody" is not an address');
      return { delivered: to };
    },
  },
  { concurrency: 4 },
);

const events = client.events();
const watching = (async () => {
  for await (const event of events) {
    if (event.event === "job:failed") console.log(`  attempt failed (${event.error}), retry ${event.retryCount} follows`);
  }
})();

const jobs = [];
for (let number = 1; number <= 9; number++) jobs.push(await client.enqueue("email:send", { to: `customer${number}@example.com` }));
jobs.push(await client.enqueue("email:send", { to: "ann@slow.example" }, { retryDelay: "200ms", priority: "high" }));
jobs.push(await client.enqueue("email:send", { to: "bob@slow.example" }, { retryDelay: "200ms" }));
const hopeless = await client.enqueue("email:send", { to: "nobody" }, { maxRetries: 1, retryDelay: "100ms" });
const again = await client.enqueue("email:send", { to: "customer1@example.com" }, { idempotencyKey: "order-1" });
const twice = await client.enqueue("email:send", { to: "customer1@example.com" }, { idempotencyKey: "order-1" });
console.log(`  the same idempotency key twice makes one job: ${again.id === twice.id}`);

serverIsUp = true;
for (const job of jobs) await client.wait(job.id);
const dead = await client.wait(hopeless.id);
console.log(`\nThe e-mail to nobody is ${dead.status} after ${dead.attempt} attempts: ${dead.error?.message}`);

addressIsFixed = true;
console.log(`Retried by hand: ${await client.dead.retry()} job`);
const saved = await client.wait(hopeless.id);
console.log(`It is ${saved.status} now: ${JSON.stringify(saved.result)}`);
for (const attempt of await client.attempts(hopeless.id)) {
  console.log(`  attempt ${attempt.number}: ${attempt.outcome}${attempt.error === null ? "" : ` (${attempt.error.message})`}`);
}

const stats = await client.stats();
console.log(
  `\n${stats.totalProcessed} jobs completed, ${stats.totalRetried} attempts retried, ${stats.totalFailed} job was dead for a while.`,
);
console.log("Next: README.md shows the library, examples/ has more programs, npm test checks everything.");

await worker.stop();
await client.close();
await watching;
await rm(folder, { recursive: true });
