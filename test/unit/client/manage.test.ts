import { describe, expect, test } from "vitest";
import type { LeasedJob } from "../../../src/client/client.ts";
import { connect, type Trouble } from "../../../src/connect.ts";
import type { Store } from "../../../src/store/store.ts";
import { claim, die, listenTo, MISSING_ID, openClient, spyOn } from "./open-client.ts";

describe("get", () => {
  test("gives the job, or null", async () => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t", { a: 1 });
    expect(await client.get(id)).toMatchObject({ id, payload: { a: 1 } });
    expect(await client.get(MISSING_ID)).toBeNull();
  });

  test("in many calls at once asks the store once", async () => {
    const { client, store } = await openClient();
    const results = await client.enqueueMany([{ type: "a" }, { type: "b" }, { type: "c" }]);
    const ids = results.map((result) => (result.ok ? result.job.id : ""));
    const finds = spyOn(store, "find");
    const jobs = await Promise.all(ids.map((id) => client.get(id)));
    expect(jobs.map((job) => job?.type)).toEqual(["a", "b", "c"]);
    expect(finds).toHaveLength(1);
  });
});

describe("an id that is not one", () => {
  test.each(["", "42", "0190D2F0-7B1A-7ABC-8DEF-0123456789AB", "'; drop table jobs; --", null, 5])(
    "%j is refused by every verb",
    async (id) => {
      const { client } = await openClient();
      const bad = id as string;
      const calls = [
        client.get(bad),
        client.attempts(bad),
        client.changes(bad),
        client.logs(bad),
        client.wait(bad),
        client.cancel(bad),
        client.retry(bad),
        client.remove(bad),
      ];
      for (const call of calls) await expect(call).rejects.toMatchObject({ code: "invalid_input", field: "id" });
    },
  );
});

describe("cancel", () => {
  test.each(["pending", "scheduled", "running"] as const)("ends a %s job", async (status) => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t", null, status === "scheduled" ? { delay: "1h" } : undefined);
    if (status === "running") await claim(client);
    expect((await client.get(id))?.status).toBe(status);
    expect(await client.cancel(id)).toMatchObject({ id, status: "cancelled" });
  });

  test("of a job that has ended otherwise says so, and what could be cancelled", async () => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t");
    const [lease] = (await claim(client)).jobs;
    const outcome = { kind: "completed", result: null, runMs: 1 } as const;
    await client.leases.exchange([{ id, fence: lease!.fence, facts: lease!.facts, outcome }], null);
    await expect(client.cancel(id)).rejects.toMatchObject({
      code: "wrong_status",
      jobId: id,
      message: `job ${id} is completed: only scheduled, pending, retrying, blocked and running jobs can be cancelled`,
    });
  });

  test("of a running job makes the late answer stale", async () => {
    const { client } = await openClient();
    await client.enqueue("t");
    const [lease] = (await claim(client)).jobs;
    await client.cancel(lease!.job.id);
    const report = {
      id: lease!.job.id,
      fence: lease!.fence,
      facts: lease!.facts,
      outcome: { kind: "completed", result: null, runMs: 1 },
    } as const;
    expect((await client.leases.exchange([report], null)).results).toEqual(["cancelled"]);
  });
});

describe("retry", () => {
  test("gives a dead job a new life", async () => {
    const { client } = await openClient();
    await client.enqueue("t");
    const id = await die(client);
    expect(await client.retry(id)).toMatchObject({ status: "pending", retryCount: 0, attempt: 1 });
  });

  test("of a job that waits, runs or was completed is refused", async () => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t");
    await expect(client.retry(id)).rejects.toMatchObject({
      code: "wrong_status",
      message: `job ${id} is pending: only dead, failed and cancelled jobs can be retried`,
    });
  });

  test("of a scheduled job tells how to start it now, and `now` does", async () => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t", null, { delay: "1h" });
    await expect(client.retry(id)).rejects.toMatchObject({ message: expect.stringContaining("{ now: true }") as string });
    expect(await client.retry(id, { now: true })).toMatchObject({ status: "pending" });
    await expect(client.retry(id, { now: true })).rejects.toMatchObject({ code: "wrong_status" });
  });

  test("of a job whose handler waits for something tells where to look, and with `now` what else could be started", async () => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t");
    const [{ fence, facts }] = (await claim(client)).jobs as [LeasedJob];
    const wait = { name: "go", kind: "wait", state: "open", value: null, untilMs: null, detail: null } as const;
    await client.leases.exchange([{ id, fence, facts, outcome: { kind: "suspend", waits: [wait], calls: [] } }], null);
    const tail = "jobs can be retried; explain says what it waits for";
    await expect(client.retry(id)).rejects.toThrow(`job ${id} is blocked: only dead, failed and cancelled ${tail}`);
    await expect(client.retry(id, { now: true })).rejects.toThrow(
      `job ${id} is blocked: only dead, failed, cancelled, scheduled and retrying ${tail}`,
    );
  });

  test("with `now` also gives a dead job a new life", async () => {
    const { client } = await openClient();
    await client.enqueue("t");
    const id = await die(client);
    expect(await client.retry(id, { now: true })).toMatchObject({ status: "pending", retryCount: 0 });
  });

  test.each([{ now: "yes" }, { later: true }, 5])("refuses the options %j", async (options) => {
    const { client } = await openClient();
    await expect(client.retry(MISSING_ID, options as never)).rejects.toMatchObject({ code: "invalid_input" });
  });
});

describe("remove", () => {
  test("deletes a job that has ended, and no other", async () => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t");
    await expect(client.remove(id)).rejects.toMatchObject({
      code: "wrong_status",
      message: `job ${id} is pending: only completed, failed, dead and cancelled jobs can be removed; cancel it first`,
    });
    await client.cancel(id);
    await client.remove(id);
    expect(await client.get(id)).toBeNull();
  });
});

describe("a job that is not there", () => {
  test("is told by name", async () => {
    const { client } = await openClient();
    for (const call of [
      () => client.cancel(MISSING_ID),
      () => client.retry(MISSING_ID),
      () => client.retry(MISSING_ID, { now: true }),
      () => client.remove(MISSING_ID),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: "not_found",
        jobId: MISSING_ID,
        message: expect.stringContaining(MISSING_ID) as string,
      });
    }
    expect(await client.attempts(MISSING_ID)).toEqual([]);
    expect(await client.logs(MISSING_ID)).toEqual([]);
  });
});

describe("history", () => {
  test("tells attempts and log lines, a page at a time", async () => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t");
    const [lease] = (await claim(client)).jobs;
    const { fence } = lease!;
    await client.leases.note([{ id, fence, type: "t", queue: "default", progress: null, lines: ["one", "two", "three"] }]);
    expect(await client.attempts(id)).toMatchObject([{ number: 1, outcome: "running", workerId: "w1", endedAt: null }]);
    expect((await client.logs(id, { after: 1, limit: 1 })).map((line) => line.text)).toEqual(["two"]);
    for (const page of [{ limit: 0 }, { limit: 1001 }, { after: -1 }, { from: 1 }]) {
      await expect(client.logs(id, page as never)).rejects.toMatchObject({ code: "invalid_input", field: Object.keys(page)[0] });
    }
  });
});

test("changes by hand are announced, one event a job, and only those that happened", async () => {
  const { client, store } = await openClient();
  const { id } = await client.enqueue("t");
  const heard = listenTo(store);
  await client.cancel(id);
  await client.cancel(id).catch(() => {});
  await client.retry(id);
  expect(heard.map((event) => event.event)).toEqual(["job:cancelled", "job:retried"]);
  expect(heard[0]).toMatchObject({ jobId: id, type: "t", queue: "default" });
});

describe("who makes a change", () => {
  test("is who the call names, or else the client's actor, or nobody", async () => {
    const { client } = await openClient({ actor: "billing" });
    const { id } = await client.enqueue("t");
    await client.cancel(id);
    await client.retry(id, { by: "ann" });
    expect((await client.changes(id)).map(({ by }) => by)).toEqual(["billing", "ann"]);
    const { client: nobodys } = await openClient();
    const other = await nobodys.enqueue("t");
    await nobodys.cancel(other.id);
    expect((await nobodys.changes(other.id)).map(({ by }) => by)).toEqual([null]);
  });

  test("is kept apart for calls that share a batch", async () => {
    const { client, store } = await openClient();
    const ids = (await client.enqueueMany([{ type: "t" }, { type: "t" }, { type: "t" }])).map((answer) => (answer.ok ? answer.job.id : ""));
    const changes = spyOn(store, "change");
    await Promise.all(ids.map((id, index) => client.cancel(id, { by: index === 1 ? "bob" : "ann" })));
    expect(changes).toHaveLength(2);
    expect(await Promise.all(ids.map(async (id) => (await client.changes(id))[0]?.by))).toEqual(["ann", "bob", "ann"]);
  });

  test("of one call neither waits for another's nor fails with it", async () => {
    const { client, store } = await openClient();
    const [first, second, third] = (await client.enqueueMany([{ type: "t" }, { type: "t" }, { type: "t" }])).map((answer) =>
      answer.ok ? answer.job.id : "",
    );
    const change = store.change.bind(store);
    const held = Promise.withResolvers<never>();
    Object.assign(store, {
      change: (...args: Parameters<Store["change"]>) => (args[2]?.by === "ann" ? held.promise : change(...args)),
    });
    const anns = client.cancel(first!, { by: "ann" });
    const others = [client.cancel(second!, { by: "bob" }), client.cancel(third!)];
    expect(await Promise.all(others)).toMatchObject([{ status: "cancelled" }, { status: "cancelled" }]);
    held.reject(new Error("away"));
    await expect(anns).rejects.toThrow("away");
  });

  test("is passed on by a bulk operation, and kept with it", async () => {
    const { client } = await openClient({ actor: "billing" });
    const { id } = await client.enqueue("t");
    const operation = await client.bulk.start({ action: "cancel", filter: { type: "t" } }, { by: "ann", reason: "wrong price" });
    expect(operation).toMatchObject({ by: "ann", reason: "wrong price" });
    await client.wait(operation.id);
    expect(await client.changes(id)).toMatchObject([{ action: "cancelled", by: "ann", reason: "wrong price" }]);
    expect((await client.bulk.list()).operations).toMatchObject([{ by: "ann", reason: "wrong price" }]);
  });

  test("is in the audit, and can be asked for", async () => {
    const { client } = await openClient({ actor: "billing" });
    const { id } = await client.enqueue("t");
    await client.cancel(id);
    await client.pause("default", { by: "ann" });
    expect((await client.audit({ by: "ann" })).entries).toMatchObject([{ action: "queue:paused", by: "ann" }]);
    expect((await client.audit({ by: "billing" })).entries).toMatchObject([{ action: "job:cancelled", by: "billing" }]);
  });

  test("is in the audit of a signal, which has none of signals by nobody", async () => {
    const { client } = await openClient({ actor: "billing" });
    const { id } = await client.enqueue("t");
    await client.signal(id, "a");
    await client.signal(id, "b", null, { by: "ann", reason: "on the phone" });
    await client.signal(id, "c", null, { by: null });
    await client.signal(id, "b", null, { by: "eve" });
    expect((await client.audit()).entries.map(({ action, by, reason, details }) => [action, by, reason, details])).toEqual([
      ["job:signalled", "ann", "on the phone", "type=t signal=b"],
      ["job:signalled", "billing", null, "type=t signal=a"],
    ]);
  });

  test("does not matter to the change: it is made even if the audit cannot be written", async () => {
    const troubles: Trouble[] = [];
    const { client, store } = await openClient({ onTrouble: (trouble) => troubles.push(trouble) });
    Object.assign(store, { writeAudit: () => Promise.reject(new Error("away")) });
    const { id } = await client.enqueue("t");
    expect(await client.cancel(id)).toMatchObject({ status: "cancelled" });
    expect(troubles).toMatchObject([{ kind: "audit", message: expect.stringContaining("away") as string }]);
  });

  test.each(["", "x".repeat(129), 5, {}])("cannot be %j", async (by) => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t");
    await expect(client.cancel(id, { by: by as string })).rejects.toMatchObject({ code: "invalid_input", field: "by" });
    await expect(client.bulk.start({ action: "cancel", all: true }, { by: by as string })).rejects.toMatchObject({ field: "by" });
    await expect(client.dead.retry({}, { by: by as string })).rejects.toMatchObject({ field: "by" });
    await expect(connect("memory:", { actor: by as string })).rejects.toMatchObject({ code: "invalid_input", field: "actor" });
  });
});
