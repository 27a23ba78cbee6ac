/** Who made a change, as a server knows it: by the key or the session, whatever the request says. */
import { describe, expect, test } from "vitest";
import { createRemoteClient } from "../../../src/http/remote-client.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { type Api, openApi } from "./open-api.ts";

const KEYS = ["deploy:admin+read:secret-1", "secret-2", `${"n".repeat(200)}:admin:secret-3`];

async function byOfCancel({ ask, client }: Api, headers: Record<string, string>): Promise<unknown> {
  const { id } = await client.enqueue("t");
  expect((await ask("POST /api/v1/jobs/{id}/cancel", { params: { id }, query: "reason=wrong+price", headers })).status).toBe(200);
  const [change] = await client.changes(id);
  expect(change).toMatchObject({ action: "cancelled", reason: "wrong price" });
  return change?.by;
}

describe("a change over HTTP", () => {
  test("is by the key: its name, or a word for one without a name", async () => {
    const api = await openApi({ keys: KEYS });
    expect(await byOfCancel(api, { "X-API-Key": "secret-1" })).toBe("deploy");
    expect(await byOfCancel(api, { "X-API-Key": "secret-2" })).toBe("API key");
    expect(await byOfCancel(api, { "X-API-Key": "secret-3" })).toBe("n".repeat(128));
  });

  test("is by nobody where no key is needed", async () => {
    expect(await byOfCancel(await openApi(), {})).toBeNull();
  });

  test("is by the dashboard's user", async () => {
    const api = await openApi(
      { keys: KEYS, dashboard: { users: [{ name: "ann", password: "correct horse", role: "operator" }] } },
      "fetch",
    );
    const login = await api.send("/dashboard/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: "ann", password: "correct horse" }),
    });
    const cookie = login.headers.get("set-cookie")!.split(";")[0]!;
    expect(await byOfCancel(api, { cookie, "sec-fetch-site": "same-origin" })).toBe("ann");
  });

  test("is known for every way to change jobs", async () => {
    const { ask, client } = await openApi({ keys: KEYS });
    const headers = { "X-API-Key": "secret-1" };
    const { id } = await client.enqueue("t", null, { delay: "1h" });
    await ask("POST /api/v1/jobs/{id}/retry", { params: { id }, query: "now=true&reason=a", headers });
    await ask("DELETE /api/v1/jobs/{id}", { params: { id }, query: "reason=b", headers });
    await ask("POST /dlq/{id}/retry", { params: { id }, headers });
    const { body } = await ask("POST /api/v1/bulk", { json: { action: "cancel", filter: { type: "t" } }, query: "reason=c", headers });
    expect(body).toMatchObject({ by: "deploy", reason: "c" });
    await client.wait((body as { id: string }).id);
    expect((await client.changes(id)).map(({ action, by, reason }) => [action, by, reason])).toEqual([
      ["started", "deploy", "a"],
      ["cancelled", "deploy", "b"],
      ["retried", "deploy", null],
      ["cancelled", "deploy", "c"],
    ]);
  });

  test("is known for every other change, in the audit", async () => {
    const { ask, client } = await openApi({ keys: KEYS });
    const headers = { "X-API-Key": "secret-1" };
    const { id } = await client.enqueue("t");
    const name = "nightly";
    await ask("POST /api/v1/jobs/{id}/cancel", { params: { id }, headers });
    await ask("DELETE /api/v1/jobs/{id}", { params: { id }, query: "purge=true&reason=r", headers });
    await ask("POST /api/v1/queues/{queue}/pause", { params: { queue: "default" }, query: "reason=r", headers });
    await ask("POST /api/v1/queues/{queue}/resume", { params: { queue: "default" }, query: "reason=r", headers });
    await ask("PATCH /api/v1/queues/{queue}", { params: { queue: "default" }, json: { capacity: 9 }, query: "reason=r", headers });
    await ask("POST /api/v1/schedules", { json: { name, every: "1h", type: "t" }, query: "reason=r", headers });
    await ask("PUT /api/v1/schedules/{name}", { params: { name }, json: { every: "2h", type: "t" }, query: "reason=r", headers });
    await ask("POST /api/v1/schedules/{name}/pause", { params: { name }, query: "reason=r", headers });
    await ask("POST /api/v1/schedules/{name}/resume", { params: { name }, query: "reason=r", headers });
    await ask("POST /api/v1/schedules/{name}/run", { params: { name }, query: "reason=r", headers });
    await ask("DELETE /api/v1/schedules/{name}", { params: { name }, query: "reason=r", headers });
    const { body } = await ask("GET /api/v1/audit", { query: "by=deploy", headers });
    expect(body.entries.map(({ action, reason }) => [action, reason])).toEqual([
      ["schedule:removed", "r"],
      ["schedule:run", "r"],
      ["schedule:resumed", "r"],
      ["schedule:paused", "r"],
      ["schedule:saved", "r"],
      ["schedule:saved", "r"],
      ["queue:configured", "r"],
      ["queue:resumed", "r"],
      ["queue:paused", "r"],
      ["job:removed", "r"],
      ["job:cancelled", null],
    ]);
  });

  test("is known for a signal, in the audit; a signal by nobody is part of the work, and not there", async () => {
    const { ask, client } = await openApi({ keys: ["deploy:enqueue:secret-1"] });
    const { id } = await client.enqueue("t", null, { queue: "mail" });
    const params = { id, name: "go" };
    const send = (signal: string): Promise<{ status: number; body: unknown }> =>
      ask("POST /api/v1/jobs/{id}/signals/{name}", {
        params,
        query: "reason=ann+said+so",
        json: { id: signal },
        headers: { "X-API-Key": "secret-1" },
      });
    expect((await send("s-1")).body).toEqual({ accepted: true });
    expect((await send("s-2")).body).toEqual({ accepted: false, reason: "already_received" });
    expect((await client.audit()).entries).toMatchObject([
      { action: "job:signalled", by: "deploy", reason: "ann said so", jobId: id, queue: "mail", details: "type=t signal=go" },
    ]);
    const open = await openApi();
    const other = await open.client.enqueue("t");
    await open.ask("POST /api/v1/jobs/{id}/signals/{name}", { params: { id: other.id, name: "go" } });
    expect((await open.client.audit()).entries).toEqual([]);
  });

  test("cannot name somebody else", async () => {
    const { ask, client, url } = await openApi();
    const { id } = await client.enqueue("t");
    const answer = await ask("POST /api/v1/jobs/{id}/cancel", { params: { id }, query: "by=ann" });
    expect([answer.status, (answer.body as { field?: string }).field]).toEqual([422, "by"]);
    const remote = createRemoteClient({ url, clock: systemClock, random: Math.random, deadlineMs: 5_000 });
    for (const call of [
      remote.cancel(id, { by: "ann" }),
      remote.retry(id, { by: "ann" }),
      remote.signal(id, "go", null, { by: "ann" }),
      remote.dead.retry({}, { by: "ann" }),
      remote.bulk.start({ action: "cancel", all: true }, { by: "ann" }),
      remote.bulk.stop(id, { by: "ann" }),
    ]) {
      await expect(call).rejects.toMatchObject({ code: "invalid_input", field: "by" });
    }
    await remote.close();
  });
});
