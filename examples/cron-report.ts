/**
 * Makes a report at seven local time on every working day. The schedule is kept in the store: even if you start this program on ten
 * machines, there is one report a day.
 *
 * The payload is the same for every tick, so the handler takes the day from the job's creation time: a retry after midnight still writes
 * the report of the day before.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "millrace";

const TIME_ZONE = "Europe/Berlin";
const folder = await mkdtemp(join(tmpdir(), "millrace-reports-"));
const client = await connect("memory:");

/** The local day, such as 2026-03-29. */
function dayOf(time: number): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone: TIME_ZONE, dateStyle: "short" }).format(time);
}

const worker = client.work({
  "report:daily": async ({ title }: { title: string }, ctx) => {
    const day = dayOf(ctx.job.createdAt);
    const { totalProcessed, totalFailed, deadCount } = await client.stats();
    // Named after its day: if it is made twice, it is still one report.
    const path = join(folder, `${day}.txt`);
    await writeFile(path, `${title}, ${day}\n${totalProcessed} done, ${totalFailed} failed, ${deadCount} to look at\n`);
    return { path };
  },
});

await client.schedules.upsert({
  name: "daily-report",
  cron: "0 7 * * MON-FRI",
  timeZone: TIME_ZONE,
  type: "report:daily",
  payload: { title: "The day before" },
  maxRetries: 5,
  catchUp: "one", // if the machine was off at seven, make one report when it is back
  overlap: "skip", // do not start one while yesterday's is still being made
});
for (const time of await client.schedules.preview("daily-report", 3)) {
  console.log("next:", new Intl.DateTimeFormat("en-GB", { timeZone: TIME_ZONE, dateStyle: "full", timeStyle: "short" }).format(time));
}

// Run it now, without waiting until seven.
const job = await client.schedules.run("daily-report");
const { path } = (await client.wait(job.id)).result as { path: string };
console.log(await readFile(path, "utf8"));

await worker.stop();
await client.close();
await rm(folder, { recursive: true });
