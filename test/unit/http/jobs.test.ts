import { describe, expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import { MISSING_ID, openApi, WAYS, dieOver } from "./open-api.ts";

const JSON_TYPE = { headers: { "content-type": "application/json" } };

describe.each(WAYS)("by %s: POST /api/v1/jobs", (way) => {
  test("201: makes a job and says where it is", async () => {
    const { ask, client } = await openApi({}, way);
    const { status, headers, body } = await ask("POST /api/v1/jobs", {
      json: {
        type: "email:send",
        payload: { to: "user@example.com" },
        priority: "high",
        max_retries: 5,
        max_lost: 1,
        timeout: "30s",
        delay: "5m",
        retry_delay: 2000,
        queue: "mail",
        tags: ["a"],
        meta: { trace: "1" },
        webhook_url: "https://example.com/hook",
        key_ttl: "1h",
        idempotency_key: "k",
      },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      type: "email:send",
      queue: "mail",
      status: "scheduled",
      priority: "high",
      max_retries: 5,
      max_lost: 1,
      lost_count: 0,
      timeout: 30_000,
      retry_delay: 2000,
      payload: { to: "user@example.com" },
      result: null,
      tags: ["a"],
      meta: { trace: "1" },
      webhook_url: "https://example.com/hook",
      idempotency_key: "k",
      worker_id: null,
      started_at: null,
    });
    const { id } = body as { id: string };
    expect(headers.get("location")).toBe(`jobs/${id}`);
    expect(new URL(headers.get("location") ?? "", "http://host/mounted/api/v1/jobs").pathname).toBe(`/mounted/api/v1/jobs/${id}`);
    expect(await client.get(id)).toMatchObject({ priority: 10, queue: "mail" });
  });

  test("a priority that is no level is its number", async () => {
    const { ask } = await openApi({}, way);
    expect((await ask("POST /api/v1/jobs", { json: { type: "t", priority: 7 } })).body).toMatchObject({ priority: 7 });
    expect((await ask("POST /api/v1/jobs", { json: { type: "t", priority: 0 } })).body).toMatchObject({ priority: "default" });
  });

  test.each(["scheduled_at", "run_at"])("takes a time as %s, and null as none", async (name) => {
    const { ask, refuse } = await openApi({}, way);
    const { body } = await ask("POST /api/v1/jobs", { json: { type: "t", [name]: "2035-01-01T00:00:00Z" } });
    expect(body).toMatchObject({ status: "scheduled", scheduled_at: "2035-01-01T00:00:00.000Z" });
    expect((await ask("POST /api/v1/jobs", { json: { type: "t", [name]: null } })).body).toMatchObject({
      status: "pending",
      scheduled_at: null,
    });
    expect(await refuse("POST /api/v1/jobs", { json: { type: "t", [name]: "tomorrow" } }, "invalid_input")).toMatchObject({ field: name });
  });

  test("200: answers a known key with its job, and takes the key as a header", async () => {
    const { ask, client } = await openApi({}, way);
    const asked = { json: { type: "charge", payload: { order: 42 } }, headers: { "Idempotency-Key": "order-42" } };
    const first = await ask("POST /api/v1/jobs", asked);
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    const again = await ask("POST /api/v1/jobs", asked);
    expect(again.status).toBe(200);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    const inTheBody = await ask("POST /api/v1/jobs", { json: { ...asked.json, idempotency_key: "order-42" } });
    expect(inTheBody.status).toBe(200);
    expect((await client.list()).jobs).toHaveLength(1);
  });

  test("409: refuses a known key with other content, and shows the job that has it", async () => {
    const { ask, refuse } = await openApi({}, way);
    const { body } = await ask("POST /api/v1/jobs", { json: { type: "t", payload: 1, idempotency_key: "k" } });
    const problem = await refuse("POST /api/v1/jobs", { json: { type: "t", payload: 2, idempotency_key: "k" } }, "key_conflict");
    expect(problem).toMatchObject({ status: 409, field: "idempotency_key", job_id: (body as { id: string }).id, job: body });
  });

  test("409: also when the job that has the key cannot be read", async () => {
    const { ask, refuse, client } = await openApi({}, way);
    await ask("POST /api/v1/jobs", { json: { type: "t", payload: 1, idempotency_key: "k" } });
    Object.assign(client, { get: () => Promise.reject(new MillraceError("store_unavailable", "away")) });
    const conflict = { type: "t", payload: 2, idempotency_key: "k" };
    expect(await refuse("POST /api/v1/jobs", { json: conflict }, "key_conflict")).not.toHaveProperty("job");
    const { body } = await ask("POST /api/v1/jobs/batch", { json: { jobs: [conflict] } });
    expect(body.results).toMatchObject([{ status: 409, error: { code: "key_conflict" } }]);
  });

  test("422: a key in body and header that differ", async () => {
    const { refuse } = await openApi({}, way);
    const asked = { json: { type: "t", idempotency_key: "a" }, headers: { "Idempotency-Key": "b" } };
    expect(await refuse("POST /api/v1/jobs", asked, "invalid_input")).toMatchObject({ field: "idempotency_key" });
  });

  test("503: a full queue says when to come again, and leaves nothing, no key either", async () => {
    const { ask, refuse, client } = await openApi({}, way);
    await client.configure("default", { capacity: 1 });
    await ask("POST /api/v1/jobs", { json: { type: "t" } });
    const problem = await refuse("POST /api/v1/jobs", { json: { type: "t", payload: 1, idempotency_key: "k" } }, "queue_full");
    expect(problem).toMatchObject({ status: 503, field: "queue", retry_after_ms: 1000 });
    expect(problem.headers.get("retry-after")).toBe("1");
    await client.configure("default", { capacity: null });
    expect((await ask("POST /api/v1/jobs", { json: { type: "t", payload: 2, idempotency_key: "k" } })).status).toBe(201);
  });

  test("answers without the payload where that is preferred", async () => {
    const { send } = await openApi({}, way);
    const init = { method: "POST", headers: { "content-type": "application/json", prefer: "return=minimal" } };
    const one = await send("/api/v1/jobs", { ...init, body: '{"type":"t","payload":{"a":1}}' });
    expect(Object.keys((await one.json()) as object)).not.toContain("payload");
    const many = await send("/api/v1/jobs/batch", { ...init, body: '{"jobs":[{"type":"t","payload":{"a":1}}]}' });
    const { results } = (await many.json()) as { results: { job: object }[] };
    expect(Object.keys(results[0]!.job)).not.toContain("payload");
  });
});

describe.each(WAYS)("by %s: POST /api/v1/jobs/batch", (way) => {
  test("answers each job as it would be answered alone: with a notice, and with the job that has its key", async () => {
    const { ask, send } = await openApi({ types: ["own"] }, way);
    const first = await ask("POST /api/v1/jobs", { body: '{"type":"own","payload":9007199254740993,"idempotency_key":"k"}', ...JSON_TYPE });
    const conflict = { type: "own", payload: 2, idempotency_key: "k" };
    const { body } = await ask("POST /api/v1/jobs/batch", { json: { jobs: [{ type: "t" }, { type: "own" }, conflict] } });
    const [noticed, plain, refused] = body.results;
    expect(noticed).toMatchObject({ status: 201, job: { notice: expect.stringContaining("no live worker handles type t") as string } });
    expect(plain).not.toHaveProperty("job.notice");
    expect(refused).toMatchObject({ status: 409, error: { code: "key_conflict", job: first.body } });
    const sent = await send("/api/v1/jobs/batch", { method: "POST", body: JSON.stringify({ jobs: [conflict] }), ...JSON_TYPE });
    expect(await sent.text()).toContain('"payload":9007199254740993');
  });

  test("shows the other job for the first keys that belong to one, and its id for all", async () => {
    const { ask } = await openApi({}, way);
    const { body: first } = await ask("POST /api/v1/jobs", { json: { type: "t", idempotency_key: "k" } });
    const jobs = Array.from({ length: 30 }, (_, payload) => ({ type: "t", payload, idempotency_key: "k" }));
    const { results } = (await ask("POST /api/v1/jobs/batch", { json: { jobs } })).body;
    const { id } = first as { id: string };
    expect(results).toMatchObject(jobs.map((_, index) => ({ error: index < 20 ? { job_id: id, job: first } : { job_id: id } })));
    for (const refused of results.slice(20)) expect(refused).not.toHaveProperty("error.job");
  });

  test("200: answers one by one, as the single route would", async () => {
    const { ask, client } = await openApi({}, way);
    await client.configure("small", { capacity: 1 });
    const { body } = await ask("POST /api/v1/jobs/batch", {
      json: {
        jobs: [
          { type: "a" },
          { type: "a", priority: 1000 },
          { type: "a", colour: "red" },
          5,
          { type: "a", queue: "small" },
          { type: "a", queue: "small" },
          { type: "k", idempotency_key: "k" },
          { type: "k", idempotency_key: "k" },
        ],
      },
    });
    expect(body.results.map((result) => [result.status, "error" in result ? result.error.field : null])).toEqual([
      [201, null],
      [422, "priority"],
      [422, "colour"],
      [422, "body"],
      [201, null],
      [503, "queue"],
      [201, null],
      [200, null],
    ]);
  });

  test("B14: none is fine, a thousand are, and one more is 413 with the limit", async () => {
    const { ask, refuse, client } = await openApi({}, way);
    expect((await ask("POST /api/v1/jobs/batch", { json: { jobs: [] } })).body).toEqual({ results: [] });
    const jobs = Array.from({ length: 1000 }, () => ({ type: "t" }));
    expect((await ask("POST /api/v1/jobs/batch", { json: { jobs } })).body.results).toHaveLength(1000);
    const problem = await refuse("POST /api/v1/jobs/batch", { json: { jobs: [...jobs, { type: "t" }] } }, "body_too_large");
    expect(problem).toMatchObject({ status: 413, field: "jobs", detail: "a batch may have at most 1000 jobs; got 1001" });
    expect((await client.stats()).counts.pending).toBe(1000);
  });

  test("422: what is no list of jobs", async () => {
    const { refuse } = await openApi({}, way);
    expect(await refuse("POST /api/v1/jobs/batch", { json: { jobs: {} } }, "invalid_input")).toMatchObject({ field: "jobs" });
    expect(await refuse("POST /api/v1/jobs/batch", { json: [] }, "invalid_input")).toMatchObject({ field: "body" });
  });
});

describe.each(WAYS)("by %s: GET /api/v1/jobs", (way) => {
  test("200: pages by number and by cursor, with a total, newest first and without bodies", async () => {
    const { ask, client } = await openApi({}, way);
    await client.enqueueMany(Array.from({ length: 25 }, (_, index) => ({ type: index % 2 === 0 ? "even" : "odd", payload: index })));
    const first = (await ask("GET /api/v1/jobs", { query: "limit=10&total=true" })).body;
    expect(first).toMatchObject({ total: 25, total_is_capped: false, page: 1, limit: 10 });
    expect(first.jobs).toHaveLength(10);
    expect(Object.keys(first.jobs[0]!)).not.toContain("payload");
    const third = (await ask("GET /api/v1/jobs", { query: "limit=10&page=3" })).body;
    expect(third).toMatchObject({ total: 25, page: 3, next_cursor: null });
    expect(third.jobs).toHaveLength(5);
    const next = (await ask("GET /api/v1/jobs", { query: `limit=10&cursor=${encodeURIComponent(first.next_cursor ?? "")}` })).body;
    expect(next).toMatchObject({ total: null, page: null });
    expect(next.jobs.map(({ id }) => id)).toEqual((await client.list({ limit: 25 })).jobs.slice(10, 20).map(({ id }) => id));
    expect((await ask("GET /api/v1/jobs", { query: "type=odd&limit=5&total=true" })).body).toMatchObject({
      total: 12,
      total_is_capped: false,
    });
    expect((await ask("GET /api/v1/jobs", { query: "page=9&limit=10" })).body).toMatchObject({ jobs: [], total: 25, page: 9 });
  });

  test("200: nothing is counted for a page, unless it is asked for or goes by number", async () => {
    const { ask, client } = await openApi({}, way);
    const counts: unknown[] = [];
    const count = client.count.bind(client);
    client.count = (filter) => {
      counts.push(filter);
      return count(filter);
    };
    await client.enqueueMany(Array.from({ length: 5 }, () => ({ type: "t", tags: ["x"] })));
    for (const query of ["tag=x&limit=2", "tag=x&limit=2&total=false", "tag=x&limit=2&page=1&total=false"]) {
      expect((await ask("GET /api/v1/jobs", { query })).body).toMatchObject({ total: null, total_is_capped: false, page: 1, limit: 2 });
    }
    expect((await ask("GET /api/v1/dead", { query: "limit=2" })).body).toMatchObject({ total: null });
    expect(counts).toEqual([]);
    const { body } = await ask("GET /api/v1/jobs", { query: "tag=x&limit=2&page=1" });
    expect(body).toMatchObject({ total: 5 });
    const next = await ask("GET /api/v1/jobs", { query: `tag=x&total=true&cursor=${encodeURIComponent(body.next_cursor ?? "")}` });
    expect(next.body).toMatchObject({ total: 5, page: null });
    expect(counts).toHaveLength(2);
  });

  test("200: counts by walking up to 10,000, and says when there may be more", async () => {
    const { ask, client } = await openApi({}, way);
    await client.enqueueMany(Array.from({ length: 10_050 }, () => ({ type: "t", tags: ["x"] })));
    expect((await ask("GET /api/v1/jobs", { query: "tag=x&limit=1&total=true" })).body).toMatchObject({
      total: 10_000,
      total_is_capped: true,
    });
    expect((await ask("GET /api/v1/jobs", { query: "status=pending&limit=1&total=true" })).body).toMatchObject({
      total: 10_050,
      total_is_capped: false,
    });
  });

  test("200: filters by all it knows, statuses by comma and by their aliases", async () => {
    const { ask, client } = await openApi({}, way);
    await client.enqueueMany([
      { type: "a", queue: "mail", priority: "critical", tags: ["x"] },
      { type: "b", delay: "1h" },
    ]);
    const count = async (query: string): Promise<number> => (await ask("GET /api/v1/jobs", { query })).body.jobs.length;
    expect(await count("status=Queued")).toBe(1);
    expect(await count("status=queued,scheduled")).toBe(2);
    expect(await count("status=queued&status=scheduled")).toBe(2);
    expect(await count("queue=mail&type=a&priority=critical&tag=x")).toBe(1);
    expect(await count("priority=20")).toBe(1);
    expect(await count("from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z")).toBe(2);
    expect(await count(`to=${Date.UTC(2020, 0, 1)}`)).toBe(0);
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=1e9", "limit"],
    ["limit=ten", "limit"],
    ["page=0", "page"],
    ["page=1000001", "page"],
    ["page=101&limit=100", "page"],
    ["status=asleep", "status"],
    ["type=%20", "type"],
    ["queue=%00", "queue"],
    ["priority=1000", "priority"],
    ["from=yesterday", "from"],
    ["tag=", "tag"],
    ["days=9999999", "days"],
    ["limit=1&limit=2", "limit"],
    ["__proto__=1", "__proto__"],
    ["api_key=x", "api_key"],
  ])("422 (C16, C17, W17): ?%s names %s", async (query, field) => {
    const { refuse } = await openApi({}, way);
    expect(await refuse("GET /api/v1/jobs", { query }, "invalid_input")).toMatchObject({ field });
  });

  test.each(["%", "'", "*", "_", "x' or '1'='1"])("W17: a tag %j is itself and no pattern", async (tag) => {
    const { ask, client } = await openApi({}, way);
    await client.enqueueMany([
      { type: "t", tags: [tag] },
      { type: "t", tags: ["other"] },
    ]);
    expect((await ask("GET /api/v1/jobs", { query: `tag=${encodeURIComponent(tag)}` })).body.jobs).toHaveLength(1);
  });

  test("400 (B15): a cursor that this list did not give out", async () => {
    const { refuse } = await openApi({}, way);
    expect(await refuse("GET /api/v1/jobs", { query: "cursor=nonsense" }, "invalid_cursor")).toMatchObject({ status: 400 });
  });
});

describe("a search", () => {
  test("200: finds by text, counts, and takes a whole id at once", async () => {
    const { ask, client } = await openApi();
    await client.enqueueMany(Array.from({ length: 30 }, (_, index) => ({ type: "t", payload: { n: `number ${index % 3}` } })));
    expect((await ask("GET /api/v1/jobs", { query: "q=NUMBER+1&limit=4&total=true" })).body).toMatchObject({
      total: 10,
      total_is_capped: false,
    });
    const { id } = await client.enqueue("t", { mark: "&=% é" });
    expect((await ask("GET /api/v1/jobs", { query: `q=${encodeURIComponent("&=% é")}` })).body.jobs.map((job) => job.id)).toEqual([id]);
    expect((await ask("GET /api/v1/jobs", { query: `q=${id}&total=true` })).body).toMatchObject({
      jobs: [{ id }],
      total: 1,
      next_cursor: null,
    });
  });

  test("200: a page by number looks no further than one list does, and says where to go on", async () => {
    const { ask, client } = await openApi();
    await client.enqueue("t", "needle");
    await client.enqueueMany(Array.from({ length: 10_100 }, () => ({ type: "t" })));
    const { body } = await ask("GET /api/v1/jobs", { query: "q=needle&limit=10&page=3" });
    expect(body).toMatchObject({ jobs: [], total: 0, total_is_capped: true, page: 3 });
    const next = await ask("GET /api/v1/jobs", { query: `q=needle&limit=10&cursor=${encodeURIComponent(body.next_cursor ?? "")}` });
    expect(next.body).toMatchObject({ jobs: [{ type: "t" }], next_cursor: null });
  });

  test.each(["", "x".repeat(201), "a%00b"])("422: a text that cannot be searched for: %j", async (q) => {
    const { refuse } = await openApi();
    expect(await refuse("GET /api/v1/jobs", { query: `q=${q}` }, "invalid_input")).toMatchObject({ field: "q" });
  });
});

describe("GET /api/v1/jobs/{id}/explain", () => {
  test("200: tells the reasons; 404 where there is no job", async () => {
    const { ask, refuse, client } = await openApi();
    const { id } = await client.enqueue("t", null, { delay: "1h" });
    const { body } = await ask("GET /api/v1/jobs/{id}/explain", { params: { id } });
    expect(body.reasons).toMatchObject([
      { code: "due_later", at: expect.stringMatching(/Z$/) as string },
      { code: "no_worker", type: "t" },
    ]);
    const missing = { params: { id: "0190d2f0-7b1a-7abc-8def-0123456789ab" } };
    expect(await refuse("GET /api/v1/jobs/{id}/explain", missing, "not_found")).toMatchObject({ status: 404 });
  });
});

describe("GET /api/v1/jobs/{id}", () => {
  test("200 and 404, and 422 for what is no id", async () => {
    const { ask, refuse, client } = await openApi();
    const { id } = await client.enqueue("t", { a: "<html>" });
    const { body, headers } = await ask("GET /api/v1/jobs/{id}", { params: { id } });
    expect(body).toMatchObject({ id, payload: { a: "<html>" } });
    expect(headers.get("content-type"), "W13").toBe("application/json");
    expect(await refuse("GET /api/v1/jobs/{id}", { params: { id: MISSING_ID } }, "not_found")).toMatchObject({ job_id: MISSING_ID });
    expect(await refuse("GET /api/v1/jobs/{id}", { params: { id: "5" } }, "invalid_input")).toMatchObject({ field: "id" });
  });

  test("waits for the end, and answers with what there is when the time is over", async () => {
    const { ask, refuse, client } = await openApi();
    const { id } = await client.enqueue("t");
    expect((await ask("GET /api/v1/jobs/{id}", { params: { id }, query: "wait=10ms" })).body).toMatchObject({ status: "pending" });
    const waiting = ask("GET /api/v1/jobs/{id}", { params: { id }, query: "wait=30s" });
    await client.cancel(id);
    expect((await waiting).body).toMatchObject({ status: "cancelled" });
    expect(await refuse("GET /api/v1/jobs/{id}", { params: { id }, query: "wait=31s" }, "invalid_input")).toMatchObject({ field: "wait" });
  });
});

describe("jobs are changed", () => {
  test("cancel: 200, and again; 409 when it ended otherwise, 404", async () => {
    const { ask, refuse, client } = await openApi();
    const { id } = await client.enqueue("t");
    const params = { id };
    const first = await ask("POST /api/v1/jobs/{id}/cancel", { params });
    expect(first.body).toMatchObject({ message: "Job cancelled", job_id: id, status: "cancelled" });
    expect(await ask("POST /api/v1/jobs/{id}/cancel", { params })).toMatchObject({ status: 200, body: first.body });
    const done = await client.enqueue("done");
    const worker = client.work({ done: async () => {} });
    await client.wait(done.id);
    await worker.stop();
    const ended = { params: { id: done.id } };
    expect(await refuse("POST /api/v1/jobs/{id}/cancel", ended, "wrong_status")).toMatchObject({ status: 409, job_id: done.id });
    await refuse("POST /api/v1/jobs/{id}/cancel", { params: { id: MISSING_ID } }, "not_found");
  });

  test("DELETE: cancels; with purge removes one that has ended", async () => {
    const { ask, refuse, client } = await openApi();
    const { id } = await client.enqueue("t");
    const params = { id };
    await refuse("DELETE /api/v1/jobs/{id}", { params, query: "purge=true" }, "wrong_status");
    expect((await ask("DELETE /api/v1/jobs/{id}", { params })).body).toEqual({ message: "Job cancelled", job_id: id, status: "cancelled" });
    expect((await ask("DELETE /api/v1/jobs/{id}", { params })).body).toEqual({ message: "Job cancelled", job_id: id, status: "cancelled" });
    expect((await ask("DELETE /api/v1/jobs/{id}", { params, query: "purge=true" })).body).toEqual({
      message: "Job removed",
      job_id: id,
      status: "cancelled",
    });
    await refuse("DELETE /api/v1/jobs/{id}", { params, query: "purge=true" }, "not_found");
    expect(await refuse("DELETE /api/v1/jobs/{id}", { params, query: "purge=yes" }, "invalid_input")).toMatchObject({ field: "purge" });
  });

  test("S31: retry gives one new life, and none to a job that lives", async () => {
    const { ask, refuse, client } = await openApi();
    const { id } = await client.enqueue("t", null, { delay: "1h" });
    const params = { id };
    await refuse("POST /api/v1/jobs/{id}/retry", { params }, "wrong_status");
    expect((await ask("POST /api/v1/jobs/{id}/retry", { params, query: "now=true" })).body).toMatchObject({
      message: "Job re-enqueued",
      status: "pending",
    });
    await client.cancel(id);
    expect((await ask("POST /api/v1/jobs/{id}/retry", { params })).body).toMatchObject({ job_id: id, status: "pending" });
    await refuse("POST /api/v1/jobs/{id}/retry", { params: { id: MISSING_ID } }, "not_found");
  });

  test("attempts and logs: 200, and 404 where there is no job", async () => {
    const { ask, refuse, client } = await openApi();
    const { id } = await client.enqueue("t");
    expect((await ask("GET /api/v1/jobs/{id}/attempts", { params: { id } })).body).toEqual({ attempts: [] });
    expect((await ask("GET /api/v1/jobs/{id}/logs", { params: { id } })).body).toEqual({ lines: [] });
    const worker = client.work({
      t: async (_: unknown, ctx) => {
        ctx.log("one");
        ctx.log("two");
      },
    });
    await client.wait(id);
    await worker.stop();
    expect((await ask("GET /api/v1/jobs/{id}/attempts", { params: { id } })).body.attempts).toMatchObject([
      { number: 1, outcome: "completed" },
    ]);
    expect((await ask("GET /api/v1/jobs/{id}/logs", { params: { id }, query: "after=1&limit=5" })).body.lines).toMatchObject([
      { number: 2, text: "two" },
    ]);
    for (const name of ["GET /api/v1/jobs/{id}/attempts", "GET /api/v1/jobs/{id}/logs"] as const) {
      await refuse(name, { params: { id: MISSING_ID } }, "not_found");
      expect(await refuse(name, { params: { id: "x" } }, "invalid_input")).toMatchObject({ field: "id" });
    }
  });
});

describe("dead letters", () => {
  test("are listed, given a new life, and purged", async () => {
    const api = await openApi();
    const { ask, refuse, client } = api;
    await client.enqueueMany([{ type: "a" }, { type: "b" }, { type: "b" }]);
    await dieOver(api);
    expect((await ask("GET /api/v1/dead", { query: "total=true" })).body).toMatchObject({
      total: 3,
      jobs: [{ status: "dead", error: { message: "it broke" } }, {}, {}],
    });
    expect((await ask("GET /api/v1/dead", { query: "type=b&limit=1&total=true" })).body).toMatchObject({ total: 2 });
    expect((await ask("POST /api/v1/dead/retry", { json: { type: "a" } })).body).toEqual({ message: "Retried 1 dead job", retried: 1 });
    expect((await ask("DELETE /api/v1/dead", { query: "type=b" })).body).toEqual({ message: "Purged 2 dead jobs", purged: 2 });
    expect((await ask("POST /api/v1/dead/retry")).body.retried).toBe(0);
    expect(await refuse("POST /api/v1/dead/retry", { json: { status: "dead" } }, "invalid_input")).toMatchObject({ field: "status" });
    expect(await refuse("DELETE /api/v1/dead", { query: "limit=5" }, "invalid_input")).toMatchObject({ field: "limit" });
    await refuse("GET /api/v1/dead", { query: "cursor=x" }, "invalid_cursor");
  });
});
