import { describe, expect, test } from "vitest";
import { dieOver, openApi } from "./open-api.ts";

describe("bulk operations over HTTP", () => {
  test("a dry run is 200 and changes nothing", async () => {
    const { ask, client } = await openApi();
    await client.enqueueMany([{ type: "a" }, { type: "b" }]);
    const json = { action: "cancel", filter: { type: "a", from: "2020-01-01T00:00:00Z" }, dry_run: true };
    const { status, body } = await ask("POST /api/v1/bulk", { json });
    expect(status).toBe(200);
    expect(body).toEqual({
      action: "cancel",
      filter: { type: "a", from: "2020-01-01T00:00:00.000Z", status: ["scheduled", "pending", "retrying", "blocked", "running"] },
      group_words: null,
      limit: null,
      spread: null,
      matched: 1,
      matched_is_capped: false,
      dry_run: true,
    });
    expect((await client.stats()).counts).toMatchObject({ pending: 2, cancelled: 0 });
  });

  test("a start is 202 with the place of the operation, which is looked at there, listed and stopped", async () => {
    const { ask, client } = await openApi();
    await client.enqueue("a");
    const begun = await ask("POST /api/v1/bulk", { json: { action: "cancel", filter: { status: "pending" } } });
    expect(begun.status).toBe(202);
    const { id } = begun.body as { id: string };
    expect(begun.headers.get("location")).toBe(`bulk/${id}`);
    await client.wait(id);
    const { body } = await ask("GET /api/v1/bulk/{id}", { params: { id } });
    expect(body).toMatchObject({ id, status: "completed", processed: 1, succeeded: 1, failed: 0, failures: [], error: null });
    expect(body).toMatchObject({ created_at: expect.stringMatching(/Z$/) as string, ended_at: expect.stringMatching(/Z$/) as string });
    expect((await ask("GET /api/v1/bulk")).body.operations).toEqual([body]);
    expect((await ask("POST /api/v1/bulk/{id}/stop", { params: { id } })).status).toBe(409);
  });

  test("what is wrong is told by its field", async () => {
    const { ask } = await openApi();
    for (const [json, field] of [
      [{ action: "explode" }, "action"],
      [{ action: "delete" }, "filter"],
      [{ action: "delete", filter: {} }, "filter"],
      [{ action: "delete", filter: { status: "running" } }, "filter.status"],
      [{ action: "retry", filter: { group: "nonsense" } }, "filter.group"],
      [{ action: "retry", filter: { colour: "red" } }, "filter.colour"],
    ] as const) {
      const { status, body } = await ask("POST /api/v1/bulk", { json });
      expect([status, (body as { field?: string }).field]).toEqual([422, field]);
    }
  });
});

test("GET /api/v1/dead/groups tells what dead letters died of", async () => {
  const api = await openApi();
  await api.client.enqueueMany([{ type: "t" }, { type: "t" }]);
  await dieOver(api, 2);
  const { body } = await api.ask("GET /api/v1/dead/groups");
  expect(body).toMatchObject({
    groups: [{ count: 2, types: ["t"], sample_job_id: expect.any(String) as string }],
    is_capped: false,
    has_more: false,
  });
  expect((await api.ask("GET /api/v1/facets/{field}", { params: { field: "customer" } })).body).toEqual({
    values: [],
    without: 2,
    is_capped: false,
    has_more: false,
  });
  const { group } = body.groups[0]!;
  expect((await api.ask("GET /api/v1/jobs", { query: `group=${group}` })).body.jobs).toHaveLength(2);
  expect((await api.ask("GET /api/v1/dead/groups", { query: "queue=other" })).body.groups).toEqual([]);
});
