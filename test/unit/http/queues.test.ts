import { describe, expect, test } from "vitest";
import { dieOver, openApi } from "./open-api.ts";

describe("figures", () => {
  test("GET /api/v1/stats has the shape of the source design, and more", async () => {
    const api = await openApi();
    await api.client.enqueueMany([{ type: "t", priority: "critical" }, { type: "t", priority: "low" }, { type: "t" }]);
    await dieOver(api, 1);
    const { body } = await api.ask("GET /api/v1/stats");
    expect(body).toMatchObject({
      queues: { critical: 0, high: 0, default: 1, low: 1 },
      by_queue: { default: { counts: { dead: 1, pending: 2 }, paused: false } },
      total_processed: 0,
      total_failed: 1,
      dead_count: 1,
      active_workers: 0,
      jobs_today: { processed: 0, failed: 1 },
    });
  });
});

describe("queues", () => {
  test("are listed with settings and counts", async () => {
    const { ask, client } = await openApi();
    await client.enqueue("t", null, { queue: "mail", priority: "high" });
    expect((await ask("GET /api/v1/queues")).body.queues).toMatchObject([
      { name: "mail", paused: false, counts: { pending: 1 }, waiting: { high: 1 }, capacity: null, head_start: null, dead_letters: true },
    ]);
  });

  test("PATCH changes what it names, and answers with the queue", async () => {
    const { ask } = await openApi();
    const params = { queue: "mail" };
    const json = { capacity: 5, head_start: "1m", dead_letters: false, retention: { age: "1h", count: 10, keep_at_least: 0 } };
    expect((await ask("PATCH /api/v1/queues/{queue}", { params, query: "create=true", json })).body).toMatchObject({
      name: "mail",
      capacity: 5,
      head_start: 60_000,
      dead_letters: false,
      retention: { age: 3_600_000, count: 10, keep_at_least: 0 },
    });
    expect((await ask("PATCH /api/v1/queues/{queue}", { params, json: { capacity: null, retention: { count: 3 } } })).body).toMatchObject({
      capacity: null,
      head_start: 60_000,
      retention: { age: 3_600_000, count: 3 },
    });
  });

  test.each([
    [{ capacity: 0 }, "capacity"],
    [{ capacity: "many" }, "capacity"],
    [{ head_start: "400d" }, "head_start"],
    [{ dead_letters: "no" }, "dead_letters"],
    [{ retention: { keep_at_least: "x" } }, "retention.keep_at_least"],
    [{ retention: { colour: 1 } }, "retention.colour"],
    [{ retention: 5 }, "retention"],
    [{ defaults: 5 }, "defaults"],
    [{ defaults: { max_retries: 101 } }, "defaults.max_retries"],
    [{ defaults: { priority: 1 } }, "defaults.priority"],
    [{ paused: true }, "paused"],
  ])("422: PATCH %j names %s", async (json, field) => {
    const { refuse, client } = await openApi();
    expect(await refuse("PATCH /api/v1/queues/{queue}", { params: { queue: "q" }, json }, "invalid_input")).toMatchObject({ field });
    expect(await client.queues()).toEqual([]);
  });

  test("pause and resume", async () => {
    const { ask, refuse, client } = await openApi();
    const params = { queue: "mail" };
    await client.enqueue("t", null, { queue: "mail" });
    expect((await ask("POST /api/v1/queues/{queue}/pause", { params })).body).toEqual({
      message: "Queue paused",
      queue: "mail",
      paused: true,
    });
    expect((await client.queues())[0]).toMatchObject({ name: "mail", paused: true });
    expect((await ask("POST /api/v1/queues/{queue}/resume", { params })).body).toEqual({
      message: "Queue resumed",
      queue: "mail",
      paused: false,
    });
    for (const name of ["POST /api/v1/queues/{queue}/pause", "POST /api/v1/queues/{queue}/resume"] as const) {
      expect(await refuse(name, { params: { queue: "../x" } }, "invalid_input")).toMatchObject({ field: "queue" });
    }
  });
});

describe("a queue that never existed", () => {
  const CHANGES = [
    ["POST /api/v1/queues/{queue}/pause", {}],
    ["POST /api/v1/queues/{queue}/resume", {}],
    ["PATCH /api/v1/queues/{queue}", { json: { capacity: 5 } }],
  ] as const;

  test.each(CHANGES)("%s: 404 with the names that exist, and nothing is made", async (name, body) => {
    const { refuse, client } = await openApi();
    await client.enqueue("t", null, { queue: "mail" });
    const refused = await refuse(name, { params: { queue: "mial" }, ...body }, "not_found");
    expect(refused).toMatchObject({ status: 404, field: "queue", detail: expect.stringContaining("the queues are mail.") as string });
    expect((await client.queues()).map((queue) => queue.name)).toEqual(["mail"]);
  });

  test.each(CHANGES)("%s: with create it is made", async (name, body) => {
    const { ask, client } = await openApi();
    expect((await ask(name, { params: { queue: "new" }, query: "create=true", ...body })).status).toBe(200);
    expect((await client.queues()).map((queue) => queue.name)).toEqual(["new"]);
  });

  test("the usual one is always there", async () => {
    const { ask } = await openApi();
    expect((await ask("POST /api/v1/queues/{queue}/pause", { params: { queue: "default" } })).status).toBe(200);
  });
});

describe("schedules", () => {
  const json = {
    cron: "30 2 * * *",
    time_zone: "Europe/Berlin",
    type: "report",
    payload: { day: 1 },
    priority: "high",
    catch_up: "skip",
    overlap: "skip",
  };

  test("201 when it is made; when it was there, 200 by PUT and refused by POST", async () => {
    const { ask, refuse } = await openApi();
    const made = await ask("PUT /api/v1/schedules/{name}", { params: { name: "nightly" }, json });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: "nightly",
      cron: "30 2 * * *",
      every: null,
      time_zone: "Europe/Berlin",
      priority: "high",
      paused: false,
      last_run_at: null,
    });
    const again = await ask("PUT /api/v1/schedules/{name}", { params: { name: "nightly" }, json });
    expect([again.status, again.body]).toEqual([200, made.body]);
    expect((await ask("POST /api/v1/schedules", { json: { name: "hourly", every: "1h", type: "t" } })).status).toBe(201);
    const taken = await refuse("POST /api/v1/schedules", { json: { name: "hourly", every: "2h", type: "t" } }, "schedule_exists");
    expect(taken).toMatchObject({ status: 409, detail: "schedule hourly already exists", field: "name" });
    expect((await ask("GET /api/v1/schedules/{name}", { params: { name: "hourly" } })).body).toMatchObject({ every: 3_600_000 });
    expect((await ask("GET /api/v1/schedules")).body.schedules.map(({ name }) => name)).toEqual(["hourly", "nightly"]);
    expect((await ask("GET /api/v1/schedules/{name}", { params: { name: "nightly" } })).body).toEqual(made.body);
  });

  test("what a schedule shows can be sent back", async () => {
    const { ask, client } = await openApi();
    await client.schedules.upsert({ name: "s", every: "1h", type: "t" });
    const { meta, webhook_url } = (await ask("GET /api/v1/schedules/{name}", { params: { name: "s" } })).body;
    expect(
      (await ask("PUT /api/v1/schedules/{name}", { params: { name: "s" }, json: { every: 3_600_000, type: "t", meta, webhook_url } }))
        .status,
    ).toBe(200);
  });

  test("run, pause, resume, preview, remove", async () => {
    const { ask } = await openApi();
    const params = { name: "s" };
    await ask("PUT /api/v1/schedules/{name}", { params, json: { every: "1h", type: "t", payload: 7 } });
    const run = await ask("POST /api/v1/schedules/{name}/run", { params });
    expect([run.status, run.body.payload]).toEqual([201, 7]);
    const location = new URL(run.headers.get("location") ?? "", "http://host/m/api/v1/schedules/s/run").pathname;
    expect(location).toBe(`/m/api/v1/jobs/${run.body.id}`);
    expect((await ask("POST /api/v1/schedules/{name}/pause", { params })).body).toMatchObject({ paused: true, next_run_at: null });
    expect((await ask("POST /api/v1/schedules/{name}/resume", { params })).body).toMatchObject({ paused: false });
    expect((await ask("GET /api/v1/schedules/{name}/preview", { params, query: "count=3" })).body.runs).toHaveLength(3);
    expect(
      (await ask("POST /api/v1/schedules/preview", { json: { cron: "0 0 1 1 *", time_zone: "UTC", count: 2 } })).body.runs,
    ).toHaveLength(2);
    expect((await ask("DELETE /api/v1/schedules/{name}", { params })).body).toEqual({ message: "Schedule removed", name: "s" });
  });

  test("404 for every route of one that is not there", async () => {
    const { refuse } = await openApi();
    for (const name of [
      "GET /api/v1/schedules/{name}",
      "DELETE /api/v1/schedules/{name}",
      "POST /api/v1/schedules/{name}/run",
      "POST /api/v1/schedules/{name}/pause",
      "POST /api/v1/schedules/{name}/resume",
      "GET /api/v1/schedules/{name}/preview",
    ] as const) {
      expect(await refuse(name, { params: { name: "none" } }, "not_found")).toMatchObject({ field: "name" });
      expect(await refuse(name, { params: { name: "no name" } }, "invalid_input")).toMatchObject({ field: "name" });
    }
  });

  test("503: a run into a full queue", async () => {
    const { refuse, client } = await openApi();
    await client.schedules.upsert({ name: "s", every: "1h", type: "t" });
    await client.configure("default", { capacity: 1 });
    await client.enqueue("t");
    await refuse("POST /api/v1/schedules/{name}/run", { params: { name: "s" } }, "queue_full");
  });

  test.each([
    [{ type: "t" }, "cron"],
    [{ type: "t", cron: "0 0 30 2 *" }, "cron"],
    [{ type: "t", cron: "*/0 * * * *" }, "cron"],
    [{ type: "t", cron: "60 * * * *" }, "cron"],
    [{ type: "t", cron: "5-1 * * * *" }, "cron"],
    [{ type: "t", cron: "* ".repeat(400) }, "cron"],
    [{ type: "t", cron: "*".repeat(1_000_000) }, "cron"],
    [{ type: "t", cron: "@every 0s" }, "cron"],
    [{ type: "t", cron: "* * * * *", time_zone: "Mars/Olympus" }, "time_zone"],
    [{ type: "t", every: "1ns" }, "every"],
    [{ type: "t", every: 5 }, "every"],
    [{ type: "t", every: "1h", cron: "* * * * *" }, "every"],
    [{ every: "1h" }, "type"],
    [{ type: "t", every: "1h", name: "other" }, "name"],
    [{ type: "t", every: "1h", catch_up: "all" }, "catch_up"],
    [{ type: "t", every: "1h", max_retries: 500 }, "max_retries"],
  ])("422 (B10): schedule %# is refused and names its field", async (body, field) => {
    const { refuse, client } = await openApi();
    expect(await refuse("PUT /api/v1/schedules/{name}", { params: { name: "s" }, json: body }, "invalid_input")).toMatchObject({ field });
    expect(await client.schedules.list()).toEqual([]);
  });
});
