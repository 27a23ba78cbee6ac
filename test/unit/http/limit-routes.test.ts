import { describe, expect, test } from "vitest";
import { openApi } from "./open-api.ts";

const CLAIM = { worker_id: "w-1", queues: ["mail"], limit: 5 };

describe("limits over HTTP", () => {
  test("an answer can be sent back as it is, and names its fields in snake_case", async () => {
    const { ask, client, refuse } = await openApi();
    const params = { queue: "mail" };
    const limits = { running: 5, rate: "100/s", burst: 1, per_key: { running: 2, rate: null, burst: null, waiting: 10 } };
    const made = await ask("PATCH /api/v1/queues/{queue}", { params, query: "create=true", json: { limits } });
    expect(made.body.limits).toEqual(limits);
    const again = await ask("PATCH /api/v1/queues/{queue}", { params, json: { limits: made.body.limits } });
    expect(again.body.limits).toEqual(limits);
    expect((await client.audit({ queue: "mail" })).entries).toHaveLength(1);
    const refused = await refuse(
      "PATCH /api/v1/queues/{queue}",
      { params, json: { limits: { per_key: { rate: "fast" } } } },
      "invalid_input",
    );
    expect(refused).toMatchObject({
      field: "limits.per_key.rate",
      detail: expect.stringMatching(/^limits\.per_key\.rate must be a rate/) as string,
    });
    await ask("PATCH /api/v1/queues/{queue}", { params, json: { limits: null } });
    expect((await client.queue("mail"))?.limits).toBeNull();
  });

  test("a key is any text in the path, but not one that a URL parser takes away", async () => {
    const { ask, send, client } = await openApi();
    await client.configure("mail", { capacity: 5 });
    for (const key of ["a/b", "100%", "ü", "keys", "without-key", "?x=1"]) {
      const params = { queue: "mail", key };
      const put = await ask("PUT /api/v1/queues/{queue}/limits/keys/{key}", { params, json: { running: 3 } });
      expect(put.body).toEqual({ queue: "mail", key, limits: { running: 3 } });
      expect((await ask("GET /api/v1/queues/{queue}/limits/keys/{key}", { params })).body).toMatchObject({ key, own: { running: 3 } });
      expect((await ask("DELETE /api/v1/queues/{queue}/limits/keys/{key}", { params })).status).toBe(200);
    }
    for (const key of [".", "..", "%2e%2e"]) {
      const { status } = await send(`/api/v1/queues/mail/limits/keys/${key}`, { method: "DELETE" });
      expect([404, 405]).toContain(status);
    }
    await expect(client.limits.set("mail", "..", { running: 1 })).resolves.toBeUndefined();
  });

  test("a claim is told when to come again, and a long poll waits until then", async () => {
    const { ask, client } = await openApi();
    await client.configure("mail", { limits: { rate: "1/200ms" } });
    await client.enqueueMany([
      { type: "t", queue: "mail" },
      { type: "t", queue: "mail" },
    ]);
    const first = await ask("POST /api/v1/leases", { json: CLAIM });
    expect(first.body.jobs).toHaveLength(1);
    expect(first.body.again_in_ms).toBeGreaterThan(0);
    expect(first.body.again_in_ms).toBeLessThanOrEqual(200);
    const second = await ask("POST /api/v1/leases", { json: { ...CLAIM, wait: "10s" } });
    expect(second.body).toMatchObject({ jobs: [{ type: "t" }], again_in_ms: null });
  });

  test("an outcome holds the key of its job, spends, or gives back what was not started", async () => {
    const { ask, client } = await openApi();
    await client.configure("mail", { limits: { rate: "10/h", burst: 10 } });
    await client.enqueueMany([
      { type: "t", queue: "mail", limitKey: "acme" },
      { type: "t", queue: "mail", limitKey: "acme" },
      { type: "t", queue: "mail" },
    ]);
    const { body } = await ask("POST /api/v1/leases", { json: CLAIM });
    const [held, back, plain] = [...body.jobs].sort((a, b) => Number(a.limit_key === null) - Number(b.limit_key === null));
    const lease = ({ id, fence }: { id: string; fence: number }) => ({ id, fence });
    const outcomes = [
      { ...lease(held!), outcome: "hold", delay: "1h", spend: 100 },
      { ...lease(back!), outcome: "release", unstarted: true },
      { ...lease(plain!), outcome: "hold", delay: "1h" },
    ];
    const settled = await ask("POST /api/v1/leases/settle", { json: { outcomes } });
    expect(settled.body.results.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect((await client.get(held!.id))?.status).toBe("pending");
    expect((await client.get(plain!.id))?.status).toBe("scheduled"); // without a key it is a snooze
    const use = await ask("GET /api/v1/queues/{queue}/limits", { params: { queue: "mail" } });
    expect(use.body.keys).toMatchObject([{ key: "acme", waiting: 2, held_until: expect.any(String) as string }]);
    expect(Date.parse(use.body.next_start_at!)).toBeGreaterThan(Date.now() + 8 * 3_600_000);
  });
});
