/** Recurring jobs. Schedules are kept in the store, so each tick makes one job, however many processes run. */
import { connect } from "millrace";

const client = await connect("memory:");
const worker = client.work({ "report:daily": async ({ kind }: { kind: string }) => `a ${kind} report` });

const schedule = await client.schedules.upsert({
  name: "daily-report",
  cron: "30 8 * * MON-FRI",
  timeZone: "Europe/Berlin",
  type: "report:daily",
  payload: { kind: "short" },
});
console.log("next:", new Date(schedule.nextRunAt!).toISOString());
for (const tick of await client.schedules.preview("daily-report", 3)) console.log("then:", new Date(tick).toISOString());

const job = await client.schedules.run("daily-report");
console.log("run by hand:", (await client.wait(job.id)).result);

await client.schedules.upsert({ name: "heartbeat", every: "1s", type: "report:daily", payload: { kind: "tiny" } });
for await (const event of client.events()) {
  if (event.event !== "job:completed") continue;
  console.log("the schedule made a job, and it is completed");
  break;
}

await worker.stop();
await client.close();
