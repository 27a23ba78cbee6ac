import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../../src/client/define-job.ts";
import { connect } from "../../../src/connect.ts";
import { MAX_FLOW_BODY_BYTES } from "../../../src/http/contract/flows.ts";
import { until } from "../../faults/until.ts";
import { type Api, claimOver, MISSING_ID, openApi } from "./open-api.ts";

const KEYS = { producer: "producer-0123456789", worker: "worker-0123456789", reader: "reader-0123456789", admin: "admin-0123456789" };
const SERVER = {
  keys: [
    `producer:enqueue:${KEYS.producer}`,
    `worker:work:${KEYS.worker}`,
    `reader:read:${KEYS.reader}`,
    `operator:admin+read:${KEYS.admin}`,
  ],
};

const as = (who: keyof typeof KEYS): { "x-api-key": string } => ({ "x-api-key": KEYS[who] });
const LATER = { type: "task", delay: "1h" };

async function settle(api: Api, outcome: Record<string, unknown>): Promise<void> {
  const [job] = await claimOver(api, { limit: 1 });
  await api.ask("POST /api/v1/leases/settle", { json: { outcomes: [{ id: job!.id, fence: job!.fence, ...outcome }] } });
}

describe("a flow over HTTP", () => {
  test("is 201 with its place and the jobs of its members, and 200 if its key is known", async () => {
    const { ask, client } = await openApi();
    const json = {
      members: [
        { name: "a", ...LATER },
        { name: "b", type: "task", after: ["a"], on_failure: "run", max_retries: 7, limit_key: "k", tags: ["x"], meta: { fooBar: 1 } },
        { name: "c", type: "task", after: null },
      ],
      tags: ["import"],
      meta: { orderId: 7 },
      key_ttl: "1h",
    };
    const headers = { "idempotency-key": "import-42" };
    const first = await ask("POST /api/v1/flows", { json, headers });
    expect(first.status).toBe(201);
    const { id, jobs } = first.body;
    expect(first.headers.get("location")).toBe(`flows/${id}`);
    const shown = { id, status: "running", key: "import-42", members: 3, open: 3, stuck: { count: 0, names: [] }, ended_at: null };
    expect(first.body).toMatchObject({ ...shown, created: true, tags: ["import"], meta: { orderId: 7 }, webhook_url: null });
    expect(Object.keys(jobs)).toEqual(["a", "b", "c"]);
    expect(await client.get(jobs["b"]!)).toMatchObject({
      maxRetries: 7,
      limitKey: "k",
      meta: { fooBar: 1 },
      flow: { id, name: "b" },
      status: "blocked",
    });
    const again = await ask("POST /api/v1/flows", { json: { ...json, idempotency_key: "import-42" } });
    expect(again).toMatchObject({ status: 200, body: { id, created: false, jobs } });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const other = await ask("POST /api/v1/flows", {
      json: { members: json.members.slice(1, 2).map((one) => ({ ...one, after: [] })) },
      headers,
    });
    expect(other).toMatchObject({ status: 409, body: { code: "key_conflict", field: "idempotency_key", job_id: id } });
    expect((await ask("GET /api/v1/flows/{id}", { params: { id } })).body).toMatchObject(shown);
    expect((await ask("GET /api/v1/flows")).body.flows.map((flow) => flow.id)).toEqual([id]);
    const { body } = await ask("GET /api/v1/flows/{id}/members", { params: { id } });
    expect(body.members.find(({ name }) => name === "b")).toMatchObject({
      job_id: jobs["b"],
      after: ["a"],
      on_failure: "run",
      status: "blocked",
      error: null,
    });
  });

  test("with an id is created once, however often the request comes", async () => {
    const { ask } = await openApi();
    const json = { members: [{ name: "a", ...LATER }] };
    const { body } = await ask("POST /api/v1/flows", { json });
    const again = await ask("POST /api/v1/flows", { json: { ...json, id: body.id } });
    expect(again).toMatchObject({ status: 201, body: { id: body.id, jobs: body.jobs } });
    expect((await ask("GET /api/v1/flows")).body.flows).toHaveLength(1);
    expect(await ask("POST /api/v1/flows", { json: { ...json, id: MISSING_ID } })).toMatchObject({ status: 422, body: { field: "id" } });
  });

  test("is refused by the field of the member, as the wire names it", async () => {
    const { ask } = await openApi();
    const a = { name: "a", type: "task" };
    for (const [member, field, detail] of [
      [{ on_failure: "explode" }, "members[1].on_failure", "members[1].on_failure must be cancel, run, wait"],
      [{ max_retries: 101 }, "members[1].max_retries", 'member "b": max_retries must be'],
      [{ scheduled_at: "2090-01-01" }, "members[1].scheduled_at", 'member "b": scheduled_at must be'],
      [{ meta: 7 }, "members[1].meta", 'member "b": meta must be'],
      [{ retry_dely: 1 }, "members[1].retry_dely", "did you mean retry_delay"],
      [{ idempotency_key: "k" }, "members[1].idempotency_key", "unknown field"],
      [{ type: undefined }, "members[1].type", "members[1].type is required"],
      [{ after: ["nobody"] }, "members[1].after", '"nobody"'],
      [{ name: "a" }, "members[1].name", "two members"],
    ] as const) {
      const { status, body } = await ask("POST /api/v1/flows", { json: { members: [a, { ...a, name: "b", ...member }] } });
      expect([status, body]).toMatchObject([422, { code: "invalid_input", field, detail: expect.stringContaining(detail) as string }]);
    }
    for (const [json, field] of [
      [{ members: [a], idempotency_key: "" }, "idempotency_key"],
      [{ members: [a], key_ttl: "soon" }, "key_ttl"],
      [{ members: [a], webhook_url: "http://127.0.0.1/" }, "webhook_url"],
      [{ members: { a } }, "members"],
      [{ members: [a, 7] }, "members[1]"],
    ] as const) {
      const { status, body } = await ask("POST /api/v1/flows", { json });
      const detail = expect.stringContaining(field) as string;
      expect([status, body]).toMatchObject([422, { code: "invalid_input", field, detail }]);
    }
  });

  test("is refused as a whole if a payload does not fit the schema of the workers", async () => {
    const { ask, client } = await openApi();
    const mail = defineJob({ type: "mail", input: z.object({ toWhom: z.string() }) });
    client.work([mail.handle(() => null)], { queues: ["a"] });
    await until(async () => (await client.types()).some(({ schema }) => schema !== null));
    const good = { name: "a", type: "mail", queue: "a", payload: { toWhom: "ann" }, delay: "1h" };
    const bad = { ...good, name: "b", payload: {} };
    const refusal = { code: "invalid_input", field: "members[1].payload.toWhom", issues: [{ field: "payload.toWhom" }] };
    expect(await ask("POST /api/v1/flows", { json: { members: [good, bad] } })).toMatchObject({ status: 422, body: refusal });
    expect((await client.flows.list()).flows).toEqual([]);
    const { body } = await ask("POST /api/v1/flows", { json: { members: [good] } });
    const add = { params: { id: body.id }, json: { members: [bad] } };
    expect(await ask("POST /api/v1/flows/{id}/members", add)).toMatchObject({ status: 422, body: { field: "members[0].payload.toWhom" } });
  });

  test("keeps the texts of payloads and of results", async () => {
    const api = await openApi();
    const exact = '{"id":9007199254740993,"one":1.0}';
    const body = `{"members":[{"name":"a","type":"t","payload":${exact}},{"name":"b","type":"t","after":"a"}]}`;
    const response = await api.send("/api/v1/flows", { method: "POST", headers: { "content-type": "application/json" }, body });
    const { id, jobs } = (await response.json()) as { id: string; jobs: Record<string, string> };
    expect(await (await api.send(`/api/v1/jobs/${jobs["a"]}`)).text()).toContain(`"payload":${exact}`);
    const { id: job, fence } = (await claimOver(api))[0]!;
    const outcome = `{"outcomes":[{"id":"${job}","fence":${fence},"outcome":"completed","result":${exact}}]}`;
    await api.send("/api/v1/leases/settle", { method: "POST", headers: { "content-type": "application/json" }, body: outcome });
    await until(async () => (await api.client.get(jobs["b"]!))?.status === "pending");
    expect(await (await api.send(`/api/v1/flows/${id}/members/b/outcomes`)).text()).toBe(
      `{"outcomes":[{"name":"a","status":"completed","result":${exact},"error":null}],"next_cursor":null}`,
    );
  });

  test("has room for 16 MiB of payloads, which no other route has", async () => {
    const { ask, refuse } = await openApi();
    const payload = "x".repeat(1024 * 1024 - 2);
    const members = Array.from({ length: 16 }, (_, index) => ({ name: `m${index}`, payload, ...LATER }));
    expect((await ask("POST /api/v1/flows", { json: { members } })).status).toBe(201);
    const tooMuch = { members: [...members, { name: "more", payload: "y", ...LATER }] };
    expect(await ask("POST /api/v1/flows", { json: tooMuch })).toMatchObject({ status: 422, body: { field: "members[16].payload" } });
    await refuse(
      "POST /api/v1/flows",
      { headers: { "content-type": "application/json" }, body: " ".repeat(MAX_FLOW_BODY_BYTES + 1) },
      "body_too_large",
    );
  });

  test("waits for its end, and tells what a member waits for", async () => {
    const api = await openApi();
    const { body } = await api.ask("POST /api/v1/flows", {
      json: {
        members: [
          { name: "a", type: "t" },
          { name: "b", type: "t", after: "a" },
        ],
      },
    });
    const params = { id: body.id };
    expect((await api.ask("GET /api/v1/flows/{id}", { params, query: "wait=1ms" })).body.status).toBe("running");
    const explained = await api.ask("GET /api/v1/jobs/{id}/explain", { params: { id: body.jobs["b"]! } });
    expect(explained.body.reasons[0]).toMatchObject({ code: "waits_for_members", flow_id: body.id, names: ["a"] });
    const waiting = api.ask("GET /api/v1/flows/{id}", { params, query: "wait=30s" });
    await settle(api, { outcome: "discard", error: "it broke" });
    expect((await waiting).body).toMatchObject({ status: "failed", failed: 1, cancelled: 1, ended_at: expect.any(String) as string });
    expect((await api.ask("GET /api/v1/flows", { query: "status=failed" })).body.flows).toHaveLength(1);
    expect((await api.ask("GET /api/v1/flows", { query: "status=running" })).body.flows).toEqual([]);
  });

  test("is a filter of lists, counts, dead letters, facets and bulk operations", async () => {
    const api = await openApi();
    const { ask } = api;
    const one = await ask("POST /api/v1/flows", {
      json: {
        members: [
          { name: "a", type: "t" },
          { name: "b", type: "t", after: "a" },
        ],
      },
    });
    await settle(api, { outcome: "discard", error: "it broke" });
    await until(async () => (await api.client.flows.get(one.body.id))?.status === "failed");
    await ask("POST /api/v1/flows", { json: { members: [{ name: "a", type: "t" }] } });
    const query = `flow=${one.body.id}`;
    const listed = await ask("GET /api/v1/jobs", { query: `${query}&total=true` });
    expect(listed.body).toMatchObject({ total: 2 });
    expect(listed.body.jobs.map(({ flow }) => flow!.name).toSorted()).toEqual(["a", "b"]);
    expect((await ask("GET /api/v1/dead", { query })).body.jobs).toHaveLength(1);
    expect((await ask("GET /api/v1/dead/groups", { query })).body.groups).toMatchObject([{ count: 1 }]);
    expect((await ask("GET /api/v1/facets/{field}", { params: { field: "customer" }, query })).body).toMatchObject({ without: 1 });
    const bulk = await ask("POST /api/v1/bulk", {
      json: { action: "retry", filter: { flow: one.body.id, status: "dead" }, dry_run: true },
    });
    expect(bulk.body).toMatchObject({ matched: 1, filter: { flow: one.body.id } });
    expect(await ask("GET /api/v1/jobs", { query: "flow=7" })).toMatchObject({ status: 422, body: { field: "flow" } });
  });

  test("is worked with a key of the scope work alone: results, outcomes and more members", async () => {
    const { url, client } = await openApi({ ...SERVER, hosts: ["127.0.0.1"] });
    const worker = await connect(url, { apiKey: KEYS.worker, onTrouble: () => {} });
    onTestFinished(() => worker.close({ grace: 0 }));
    worker.work({
      fetch: async (_, { flow }) => {
        await flow.add([{ name: "a/b c?", type: "sum", after: flow.name!, payload: { n: 1 } }]);
        return 20;
      },
      sum: async (payload: unknown, { flow }) => {
        const results = await flow.results();
        return [payload, results, (await flow.outcome(Object.keys(results)[0]!))?.status];
      },
    });
    const { id } = await client.flow([{ name: "fetch", type: "fetch" }]);
    expect(await client.flows.wait(id)).toMatchObject({ status: "completed", members: 2 });
    const { members } = await client.flows.members(id);
    const added = members.find(({ name }) => name === "a/b c?")!;
    expect((await client.get(added.jobId))!.result).toEqual([{ n: 1 }, { fetch: 20 }, "completed"]);
  });

  test("is open to keys by what they may do: workers read outcomes and add members", async () => {
    const { ask } = await openApi(SERVER);
    const json = { members: [{ name: "a", ...LATER }] };
    const created = await ask("POST /api/v1/flows", { json, headers: as("producer") });
    expect(created.status).toBe(201);
    const { id } = created.body;
    const params = { id, name: "a" };
    const added = { members: [{ name: "b", ...LATER }] };
    const calls = [
      ["POST /api/v1/flows", { json }, ["producer"]],
      ["GET /api/v1/flows", {}, ["reader", "admin"]],
      ["GET /api/v1/flows/{id}", { params }, ["reader", "admin"]],
      ["GET /api/v1/flows/{id}/members", { params }, ["reader", "admin"]],
      ["POST /api/v1/flows/{id}/members", { params, json: added }, ["producer", "worker"]],
      ["GET /api/v1/flows/{id}/members/{name}/outcomes", { params }, ["worker", "reader", "admin"]],
      ["POST /api/v1/flows/{id}/cancel", { params }, ["admin"]],
      ["POST /api/v1/flows/{id}/retry", { params }, ["admin"]],
    ] as const;
    for (const [name, asked, allowed] of calls) {
      const answers = await Promise.all(
        (Object.keys(KEYS) as (keyof typeof KEYS)[]).map(
          async (who) => [who, (await ask(name, { ...asked, headers: as(who) })).status] as const,
        ),
      );
      expect([name, answers.flatMap(([who, status]) => (status === 403 ? [] : who))]).toEqual([name, [...allowed]]);
    }
    const { body } = await ask("POST /api/v1/flows/{id}/members", { params, json: added, headers: as("reader") });
    expect(body).toMatchObject({ detail: "this request needs a key with the scope enqueue or work" });
  });
});
