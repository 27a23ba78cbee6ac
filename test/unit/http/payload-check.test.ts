import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Client, HandledJob } from "../../../src/client/client.ts";
import { defineJob } from "../../../src/client/define-job.ts";
import type { JsonSchema } from "../../../src/core/payload-schema.ts";
import { PayloadCheck } from "../../../src/http/payload-check.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { until } from "../../faults/until.ts";
import { openApi } from "./open-api.ts";

const mail = defineJob({ type: "mail", input: z.object({ to: z.email(), n: z.int().optional(), tags: z.array(z.string()).default([]) }) });

/** So deep that a function which calls itself cannot read it. */
function nestedSchema(): JsonSchema {
  let schema: JsonSchema = {};
  for (let depth = 0; depth < 20_000; depth++) schema = { not: schema };
  return schema;
}

/** Starts a worker, and waits until its schemas are known. */
async function publish(client: Client, job: { handle(handler: () => null): HandledJob } = mail): Promise<void> {
  const before = (await client.types()).length;
  client.work([job.handle(() => null)], { queues: ["a"] });
  await until(async () => {
    const types = await client.types();
    return types.length > before && types.every(({ schema }) => schema !== null);
  });
}

describe("a payload", () => {
  test("that does not fit the schema of the worker is refused, with every place", async () => {
    const { ask, client } = await openApi();
    await publish(client);
    const bad = { type: "mail", queue: "a", payload: { n: 1.5, tags: ["x", 2] } };
    const refused = await ask("POST /api/v1/jobs", { json: bad });
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({
      code: "invalid_input",
      field: "payload.to",
      detail: "payload.to is required (and 2 other places): the payload does not fit the schema that workers publish for type mail",
      issues: [
        { field: "payload.to", message: "is required" },
        { field: "payload.n", message: "must be integer" },
        { field: "payload.tags[1]", message: "must be string" },
      ],
    });
    const good = { ...bad, payload: { to: "ann@example.com" } };
    expect(await ask("POST /api/v1/jobs", { json: good })).toMatchObject({ status: 201 });
    const batch = await ask("POST /api/v1/jobs/batch", { json: { jobs: [bad, good, { ...bad, queue: "b" }] } });
    expect(batch.body).toMatchObject({ results: [{ status: 422, error: { field: "payload.to" } }, { status: 201 }, { status: 201 }] });
    expect((await ask("POST /jobs", { json: bad })).status).toBe(400);
    const schedule = { ...bad, every: "1h" };
    expect((await ask("PUT /api/v1/schedules/{name}", { params: { name: "s" }, json: schedule })).status).toBe(422);
    expect((await ask("POST /api/v1/schedules", { json: { ...schedule, name: "s" } })).status).toBe(422);
    const { id } = await client.enqueue("mail", {}, { queue: "a", delay: "1h" });
    await client.cancel(id);
    expect((await ask("POST /api/v1/jobs/{id}/retry", { params: { id }, json: { payload: {} } })).status).toBe(422);
    expect((await ask("POST /api/v1/jobs/{id}/retry", { params: { id }, json: { payload: good.payload } })).status).toBe(200);
  });

  test("fits if one of several versions takes it, or if a worker without a schema does", async () => {
    const { ask, client } = await openApi();
    await publish(client);
    const json = { type: "mail", queue: "a", payload: { phone: 7 } };
    expect(await ask("POST /api/v1/jobs", { json })).toMatchObject({ status: 422 });
    const jsonSchema = { type: "object", required: ["phone"], properties: { phone: { type: "integer", format: "email" } } };
    await publish(client, defineJob({ type: "mail", jsonSchema }));
    // The lookup before was a moment ago: a refusal may rest on it for a second.
    await expect.poll(async () => (await ask("POST /api/v1/jobs", { json })).status, { timeout: 10_000 }).toBe(201);
    const text = { ...json, payload: "text" };
    expect(await ask("POST /api/v1/jobs", { json: text })).toMatchObject({ status: 422 });
    client.work({ "*": () => null }, { queues: ["*"] });
    await until(async () => (await client.types()).some(({ type }) => type === "*"));
    await expect.poll(async () => (await ask("POST /api/v1/jobs", { json: text })).status, { timeout: 10_000 }).toBe(201);
  });

  test("is accepted if the schema cannot be applied, or cannot be found in time", async () => {
    const { ask, client } = await openApi();
    await publish(client, defineJob({ type: "mail", jsonSchema: { type: "string", pattern: "(" } }));
    const json = { type: "mail", queue: "a", payload: "x" };
    expect(await ask("POST /api/v1/jobs", { json })).toMatchObject({ status: 201 });
    const nested = new PayloadCheck(
      { types: async () => [{ type: "mail", queues: ["a"], workers: 1, schema: nestedSchema() }] },
      systemClock,
    );
    await nested.check({ type: "mail", queue: "a" }, 1);
    const clock = new VirtualClock(0);
    const silent = new PayloadCheck({ types: () => new Promise(() => {}) }, clock);
    const first = silent.check({ type: "mail" }, 1);
    await clock.advance(1000);
    await first;
    // The next job of a batch does not wait again.
    await silent.check({ type: "mail" }, 1);
  });

  test("that the definition accepts is not refused, also if zod changes it before it checks it", async () => {
    const { ask, client } = await openApi();
    const input = z.object({
      n: z.coerce.number().max(50),
      name: z.string().trim().max(3),
      code: z.string().regex(/^a$/i),
      text: z.preprocess(String, z.string()),
      size: z.int().catch(1),
    });
    const payload = { n: "42", name: " ann ", code: "A", text: 5 };
    expect(input.safeParse(payload).success).toBe(true);
    await publish(client, defineJob({ type: "mail", input }));
    const json = { type: "mail", queue: "a", payload };
    expect(await ask("POST /api/v1/jobs", { json })).toMatchObject({ status: 201 });
    expect(await ask("POST /api/v1/jobs", { json: { ...json, payload: { ...payload, name: 5 } } })).toMatchObject({
      status: 422,
      body: { field: "payload.name" },
    });
  });
});
