import { describe, expect, test } from "vitest";
import { dieOver, MISSING_ID, openApi, WAYS } from "./open-api.ts";

describe.each(WAYS)("by %s: the routes of the first source design", (way) => {
  test("POST /jobs: 202, with an integer priority, a text as payload and a default type", async () => {
    const { ask, client } = await openApi({}, way);
    const { status, body } = await ask("POST /jobs", {
      json: { payload: "process-order-42", idempotency_key: "order-42", priority: 5, max_retries: 3 },
    });
    expect(status).toBe(202);
    expect(body).toEqual({ job_id: expect.any(String) as string, status: "pending" });
    expect(await client.get((body as { job_id: string }).job_id)).toMatchObject({
      type: "default",
      payload: "process-order-42",
      priority: 5,
      maxRetries: 3,
    });
  });

  test("POST /jobs: 409 with the original job on a known key, and as a problem when the content differs", async () => {
    const { ask, refuse } = await openApi({}, way);
    const json = { payload: "p", idempotency_key: "k" };
    const first = (await ask("POST /jobs", { json })).body as { job_id: string };
    const again = await ask("POST /jobs", { json });
    expect(again.status).toBe(409);
    expect(again.body).toMatchObject({ job_id: first.job_id, status: "pending", job: { id: first.job_id, payload: "p" } });
    expect(await refuse("POST /jobs", { json: { ...json, payload: "other" } }, "key_conflict")).toMatchObject({
      status: 409,
      job_id: first.job_id,
    });
  });

  test("POST /jobs: 400 for input of any kind, 503 when full", async () => {
    const { refuse, client } = await openApi({}, way);
    expect(await refuse("POST /jobs", { json: {} }, "invalid_input")).toMatchObject({ status: 400, field: "payload" });
    expect(await refuse("POST /jobs", { json: { payload: 1, priority: 1000 } }, "invalid_input")).toMatchObject({
      status: 400,
      field: "priority",
    });
    expect(await refuse("POST /jobs", { body: "{", headers: { "content-type": "application/json" } }, "malformed_body")).toMatchObject({
      status: 400,
    });
    await client.configure("default", { capacity: 1 });
    await client.enqueue("t");
    expect(await refuse("POST /jobs", { json: { payload: 1 } }, "queue_full")).toMatchObject({ status: 503 });
  });

  test("GET /jobs/{id}, GET /dlq and POST /dlq/{id}/retry", async () => {
    const api = await openApi({}, way);
    const { ask, refuse, client } = api;
    const { id } = await client.enqueue("t", "p");
    expect((await ask("GET /jobs/{id}", { params: { id } })).body).toMatchObject({ id, status: "pending" });
    await refuse("GET /jobs/{id}", { params: { id: MISSING_ID } }, "not_found");
    expect(await refuse("GET /jobs/{id}", { params: { id: "x" } }, "invalid_input")).toMatchObject({ status: 400 });
    await dieOver(api);
    expect((await ask("GET /dlq")).body).toMatchObject({ jobs: [{ id, status: "dead", error: { message: "it broke" } }] });
    expect((await ask("POST /dlq/{id}/retry", { params: { id } })).body).toEqual({ job_id: id, status: "pending" });
    await refuse("POST /dlq/{id}/retry", { params: { id } }, "wrong_status");
    await refuse("POST /dlq/{id}/retry", { params: { id: MISSING_ID } }, "not_found");
  });
});
