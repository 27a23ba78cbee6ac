import { describe, expect, test } from "vitest";
import type { ScheduleInput } from "../../../src/client/client.ts";
import { listenTo, openClient, START } from "./open-client.ts";

const HOURLY: ScheduleInput = { name: "report", cron: "0 * * * *", type: "report:make", payload: { kind: "short" } };
const HOUR = 3_600_000;

describe("create", () => {
  test("is done when the answer to its write was lost, and the repeated write was refused", async () => {
    const { client, store } = await openClient();
    const put = store.putSchedule.bind(store);
    store.putSchedule = async (...args) => (await put(...args), put(...args));
    expect(await client.schedules.create(HOURLY)).toMatchObject({ name: "report", payload: { kind: "short" } });
    await expect(client.schedules.create(HOURLY)).rejects.toMatchObject({ code: "schedule_exists" });
  });

  test("is refused when somebody was faster with another schedule of that name", async () => {
    const { client, store } = await openClient();
    const put = store.putSchedule.bind(store);
    store.putSchedule = async (spec, ...rest) => {
      await put({ ...spec, overlap: "skip" }, ...rest);
      return put(spec, ...rest);
    };
    await expect(client.schedules.create(HOURLY)).rejects.toMatchObject({ code: "schedule_exists" });
    expect(await client.schedules.get("report")).toMatchObject({ overlap: "skip" });
  });
});

describe("upsert", () => {
  test("makes a schedule with its next tick", async () => {
    const { client } = await openClient();
    expect(await client.schedules.upsert({ ...HOURLY, timeZone: "Europe/Berlin", priority: "high", tags: ["x"], meta: { m: 1 } })).toEqual({
      name: "report",
      cron: "0 * * * *",
      every: null,
      timeZone: "Europe/Berlin",
      type: "report:make",
      payload: { kind: "short" },
      queue: "default",
      priority: 10,
      maxRetries: 3,
      maxLost: 3,
      retryDelay: 1000,
      timeout: 30_000,
      backoff: "exponential",
      unset: ["maxRetries", "maxLost", "retryDelay", "backoff", "timeout"],
      tags: ["x"],
      meta: { m: 1 },
      limitKey: null,
      cost: 1,
      webhookUrl: null,
      catchUp: "one",
      overlap: "allow",
      paused: false,
      nextRunAt: START + HOUR,
      lastRunAt: null,
      lastJobId: null,
      createdAt: START,
      updatedAt: START,
    });
  });

  test("of the same again, in any order of keys, writes nothing and keeps the next tick", async () => {
    const { client, store, clock } = await openClient();
    const first = await client.schedules.upsert({ ...HOURLY, payload: { a: 1, b: 2 } });
    let writes = 0;
    const put = store.putSchedule.bind(store);
    store.putSchedule = (...args) => {
      writes++;
      return put(...args);
    };
    await clock.advance("2h"); // the tick is due, and no upkeep took it
    expect(await client.schedules.upsert({ ...HOURLY, payload: { b: 2, a: 1 } })).toEqual(first);
    expect(writes).toBe(0);
  });

  test("of another payload keeps the tick it waits for; of another time does not", async () => {
    const { client, clock } = await openClient();
    await client.schedules.upsert(HOURLY);
    await clock.advance("2h");
    expect(await client.schedules.upsert({ ...HOURLY, payload: 5 })).toMatchObject({ payload: 5, nextRunAt: START + HOUR });
    expect(await client.schedules.upsert({ name: "report", every: "1d", type: "report:make" })).toMatchObject({
      cron: null,
      every: 24 * HOUR,
      nextRunAt: START + 24 * HOUR,
    });
  });

  test("from many at once ends with one schedule", async () => {
    const { client } = await openClient();
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => client.schedules.upsert({ ...HOURLY, payload: n % 2 })));
    expect(all.every((schedule) => schedule.nextRunAt === START + HOUR)).toBe(true);
    expect(await client.schedules.list()).toHaveLength(1);
  });

  test("looks again when somebody was faster, and gives up only in the end", async () => {
    const { client, store } = await openClient();
    const put = store.putSchedule.bind(store);
    let refusals = 3;
    store.putSchedule = async (...args) => (refusals-- > 0 ? false : put(...args));
    expect((await client.schedules.upsert(HOURLY)).name).toBe("report");
    store.putSchedule = async () => false;
    await expect(client.schedules.upsert({ ...HOURLY, payload: 9 })).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test.each([
    [{ ...HOURLY, name: "a b" }, "name"],
    [{ ...HOURLY, type: "" }, "type"],
    [{ ...HOURLY, cron: "61 * * * *" }, "cron"],
    [{ ...HOURLY, cron: undefined }, "cron"],
    [{ ...HOURLY, every: "1m" }, "every"],
    [{ name: "n", type: "t", every: 0 }, "every"],
    [{ ...HOURLY, timeZone: "Mars/Base" }, "timeZone"],
    [{ ...HOURLY, payload: Number.NaN }, "payload"],
    [{ ...HOURLY, priority: 1000 }, "priority"],
    [{ ...HOURLY, catchUp: "all" }, "catchUp"],
    [{ ...HOURLY, overlap: true }, "overlap"],
    [{ ...HOURLY, delay: "1s" }, "delay"],
    [{ ...HOURLY, paused: true }, "paused"],
    [null, "schedule"],
  ])("refuses %j and names the field", async (input, field) => {
    const { client } = await openClient();
    await expect(client.schedules.upsert(input as never)).rejects.toMatchObject({ code: "invalid_input", field });
    expect(await client.schedules.list()).toEqual([]);
  });
});

describe("pause and resume", () => {
  test("keep the schedule, and make up for nothing", async () => {
    const { client, clock } = await openClient();
    await client.schedules.upsert(HOURLY);
    expect(await client.schedules.pause("report")).toMatchObject({ paused: true, nextRunAt: null });
    await clock.advance(5 * HOUR + 60_000);
    expect(await client.schedules.resume("report")).toMatchObject({ paused: false, nextRunAt: START + 6 * HOUR });
  });

  test("twice is once", async () => {
    const { client } = await openClient();
    await client.schedules.upsert(HOURLY);
    expect(await client.schedules.pause("report")).toEqual(await client.schedules.pause("report"));
  });

  test("survive an upsert: what was paused by hand is not started by a deploy", async () => {
    const { client } = await openClient();
    await client.schedules.upsert(HOURLY);
    await client.schedules.pause("report");
    expect(await client.schedules.upsert(HOURLY)).toMatchObject({ paused: true });
    expect(await client.schedules.upsert({ ...HOURLY, payload: 2 })).toMatchObject({ paused: true, payload: 2 });
  });
});

describe("run", () => {
  test("makes a job now, beside the ticks", async () => {
    const { client, store } = await openClient();
    await client.schedules.upsert({ ...HOURLY, queue: "reports", priority: 7 });
    const heard = listenTo(store);
    const job = await client.schedules.run("report");
    expect(job).toMatchObject({ type: "report:make", queue: "reports", priority: 7, payload: { kind: "short" }, created: true });
    expect(await client.schedules.get("report")).toMatchObject({ nextRunAt: START + HOUR, lastRunAt: null });
    expect(heard).toMatchObject([{ event: "job:created", jobId: job.id }]);
  });

  test("of a paused schedule works; into a full queue it is refused", async () => {
    const { client } = await openClient();
    await client.schedules.upsert(HOURLY);
    await client.schedules.pause("report");
    expect((await client.schedules.run("report")).created).toBe(true);
    await client.configure("default", { capacity: 1 });
    await expect(client.schedules.run("report")).rejects.toMatchObject({ code: "queue_full", retryAfterMs: 1000 });
  });

  test("looks again when the schedule was changed meanwhile", async () => {
    const { client, store } = await openClient();
    await client.schedules.upsert(HOURLY);
    const tick = store.tick.bind(store);
    let stale = 2;
    store.tick = async (ticks) => (stale-- > 0 ? ["stale"] : tick(ticks));
    expect((await client.schedules.run("report")).created).toBe(true);
  });
});

describe("preview", () => {
  test("tells the next ticks of a stored schedule, or of a timing that is only tried", async () => {
    const { client } = await openClient();
    await client.schedules.upsert(HOURLY);
    expect(await client.schedules.preview("report", 2)).toEqual([START + HOUR, START + 2 * HOUR]);
    expect(await client.schedules.preview({ every: "10s" }, 1)).toEqual([START + 10_000]);
    expect(await client.schedules.preview({ cron: "@daily" })).toHaveLength(10);
  });

  test.each([0, 101, 1.5, "3"])("refuses to give %j of them", async (count) => {
    const { client } = await openClient();
    await expect(client.schedules.preview({ every: "10s" }, count as number)).rejects.toMatchObject({
      code: "invalid_input",
      field: "count",
    });
  });
});

describe("a schedule that is not there", () => {
  test("is null, false or not found, as the question was", async () => {
    const { client } = await openClient();
    expect(await client.schedules.get("nobody")).toBeNull();
    expect(await client.schedules.remove("nobody")).toBe(false);
    for (const verb of ["pause", "resume", "run", "preview"] as const) {
      await expect(client.schedules[verb]("nobody")).rejects.toMatchObject({ code: "not_found", message: "there is no schedule nobody" });
    }
  });

  test("any more leaves the jobs that it made", async () => {
    const { client } = await openClient();
    await client.schedules.upsert(HOURLY);
    const { id } = await client.schedules.run("report");
    expect(await client.schedules.remove("report")).toBe(true);
    expect(await client.get(id)).not.toBeNull();
  });
});
