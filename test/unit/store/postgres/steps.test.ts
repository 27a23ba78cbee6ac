/** What is special to durable work on PostgreSQL: rows that others hold, snapshots, and versions beside each other. test/conformance proves the rest. */
import { describe, expect, test } from "vitest";
import { CANCEL } from "../../../../src/core/lifecycle.ts";
import { readLimits } from "../../../../src/core/limits.ts";
import { callEnder, CALLERS } from "../../../../src/core/steps.ts";
import type { Hint, LeasedRecord, Store } from "../../../../src/store/store.ts";
import { call, result, signalTo, sleep, suspension, wait } from "../../../conformance/store/durable-work.ts";
import { settlementOf } from "../../../conformance/world.ts";
import { until } from "../../../faults/until.ts";
import { claimOf, connectedTo, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();
const COMPLETED = { kind: "completed", result: "1", runMs: 1 } as const;

async function running(store: Store, count: number): Promise<LeasedRecord[]> {
  await store.insert(Array.from({ length: count }, () => jobOf()));
  return (await store.exchange([], [claimOf({ limit: count, turn: 0 })])).claimed[0]!;
}

const statusOf = async (store: Store, id: string) => (await store.find([id]))[0]?.status ?? null;

describe("nobody waits for a stranger", () => {
  test("a step of a job that somebody holds is left out, the others of the call end", async () => {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    const leases = await running(store, 3);
    await store.exchange(
      leases.map((lease) => suspension(lease, [wait("w")])),
      [],
    );
    const client = await connectedTo(server());
    await client.query("begin");
    await client.query(`select from ${schemaOf(url)}.blocked where id = $1 for update`, [leases[1]!.id]);
    const ends = leases.map(({ id }) => signalTo(id, "w"));
    expect((await store.endSteps(ends)).map(({ kind }) => kind)).toEqual(["ok", "locked", "ok"]);
    await client.query("rollback");
    expect(await store.endSteps([ends[1]!])).toMatchObject([{ kind: "ok", woke: true }]);
  });

  test("the end of a called job, alone in its call, does not wait for who holds its caller; a signal does", async () => {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    const [lease] = await running(store, 1);
    await store.exchange([suspension(lease!, [call("c"), wait("w")])], []);
    const client = await connectedTo(server());
    await client.query("begin");
    await client.query(`select from ${schemaOf(url)}.blocked where id = $1 for update`, [lease!.id]);
    const end = signalTo(lease!.id, "c", { kind: "call", life: 1, from: CALLERS });
    expect(await store.endSteps([end])).toEqual([{ kind: "locked" }]);
    const signalled = store.endSteps([signalTo(lease!.id, "w")]);
    await client.query("rollback");
    expect(await signalled).toMatchObject([{ kind: "ok", woke: true }]);
    expect(await store.endSteps([end])).toMatchObject([{ kind: "ok", woke: false }]);
  });

  test("a move that leaves held jobs does not wait for one that is alone in its call", async () => {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    const [lease] = await running(store, 1);
    const client = await connectedTo(server());
    await client.query("begin");
    await store.within(client)!.settle([settlementOf(lease!, COMPLETED)]);
    expect(await store.change([lease!.id], { ...CANCEL, leavesHeld: true })).toEqual([{ kind: "locked" }]);
    await client.query("rollback");
    expect(await store.change([lease!.id], { ...CANCEL, leavesHeld: true })).toMatchObject([{ kind: "ok", was: "running" }]);
  });

  test("steps of a lease that somebody holds are left out, the others of the call are kept", async () => {
    const store = await openStoreOn(freshUrl(server()));
    const leases = await running(store, 3);
    const client = await connectedTo(server());
    await client.query("begin");
    await store.within(client)!.settle([settlementOf(leases[1]!, COMPLETED)]);
    const keeps = leases.map(({ id, fence }) => ({ id, fence, steps: [result("s")] }));
    expect(await store.keepSteps(keeps)).toEqual(["ok", "locked", "ok"]);
    await client.query("commit");
    expect(await store.keepSteps(keeps)).toEqual(["ok", "stale", "ok"]);
  });

  test("called jobs of one parent end in open transactions side by side, and their notices are heard of here once they are committed", async () => {
    const url = freshUrl(server());
    const [store, elsewhere] = [await openStoreOn(url), await openStoreOn(url)];
    const heard: Hint[] = [];
    const heardElsewhere: Hint[] = [];
    store.watch((hint) => void heard.push(hint));
    elsewhere.watch((hint) => void heardElsewhere.push(hint));
    const [parent] = await running(store, 1);
    const calls = ["a", "b"].map((step) => ({ ...jobOf(), parent: { id: parent!.id, step, life: 1 } }));
    await store.exchange([suspension(parent!, [call("a"), call("b")], calls)], []);
    const children = (await store.exchange([], [claimOf({ turn: 0 })])).claimed[0]!;
    const clients = [await connectedTo(server()), await connectedTo(server())];
    for (const [index, child] of children.entries()) {
      await clients[index]!.query("begin");
      const by = callEnder(child.id, child.fence);
      const end = {
        id: parent!.id,
        name: child.parent!.step,
        kind: "call",
        state: "done",
        value: "1",
        by,
        life: 1,
        from: CALLERS,
      } as const;
      const settlement = { ...settlementOf(child, COMPLETED), notice: { kind: "end", end } as const };
      expect(await store.within(clients[index])!.settle([settlement])).toEqual(["ok"]);
    }
    // The parent can still be signalled, changed and claimed.
    expect(await store.endSteps([signalTo(parent!.id, "early")])).toMatchObject([{ kind: "ok" }]);
    expect(await store.notices(10)).toEqual([]);
    expect(heard.some(({ topic }) => topic === "notices")).toBe(false);
    for (const client of clients) await client.query("commit");
    await until(() => heard.some(({ topic }) => topic === "notices"));
    const notices = await store.notices(10);
    expect(notices.map(({ notice }) => notice.kind)).toEqual(["end", "end"]);
    await store.dropNotices(notices.map(({ key }) => key));
    await store.dropNotices(notices.map(({ key }) => key));
    expect(await store.notices(10)).toEqual([]);
    expect(heardElsewhere.some(({ topic }) => topic === "notices")).toBe(false);
  });
});

test("a transaction in REPEATABLE READ is not suspended at a step that has ended since it began: it fails instead of waiting for good", async () => {
  const store = await openStoreOn(freshUrl(server()));
  const [fresh, open] = await running(store, 2);
  await store.keepSteps([{ ...open!, steps: [wait("w")] }]);
  for (const lease of [fresh!, open!]) {
    const client = await connectedTo(server());
    await client.query("begin isolation level repeatable read");
    await client.query("select 1 from pg_class limit 1");
    expect(await store.endSteps([signalTo(lease.id, "w")])).toMatchObject([{ kind: "ok", woke: false }]);
    await expect(store.within(client)!.settle([suspension(lease, [wait("w")])])).rejects.toThrow(/could not serialize/);
    await client.query("rollback");
    expect((await store.exchange([suspension(lease, [wait("w")])], [])).settled).toEqual(["ok"]);
    expect(await statusOf(store, lease.id)).toBe("pending");
  }
});

test("the same under READ COMMITTED, which sees the end, and goes on at once", async () => {
  const store = await openStoreOn(freshUrl(server()));
  const [lease] = await running(store, 1);
  const client = await connectedTo(server());
  await client.query("begin");
  await client.query("select 1 from pg_class limit 1");
  expect(await store.endSteps([signalTo(lease!.id, "w")])).toMatchObject([{ kind: "ok", woke: false }]);
  expect(await store.within(client)!.settle([suspension(lease!, [wait("w")])])).toEqual(["ok"]);
  await client.query("commit");
  expect(await statusOf(store, lease!.id)).toBe("pending");
});

test("steps go with their job, also if a process of an older version removes it", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  const [one, other] = await running(store, 2);
  await store.keepSteps([one!, other!].map(({ id, fence }) => ({ id, fence, steps: [result("s")] })));
  const client = await connectedTo(server());
  // All that an older version does with a body.
  await client.query(`delete from ${schemaOf(url)}.job where id = $1`, [one!.id]);
  expect((await client.query(`select job from ${schemaOf(url)}.step`)).rows).toEqual([{ job: other!.id }]);
});

test("texts that the server cannot hold come back as they were", async () => {
  const store = await openStoreOn(freshUrl(server()));
  const [parent] = await running(store, 1);
  const odd = "a \u0000 b \ud800 c";
  const value = JSON.stringify({ odd });
  const child = { ...jobOf({ tags: ["x"], meta: { odd } }, "task", { odd }), tags: [odd], parent: { id: parent!.id, step: odd, life: 1 } };
  await store.keepSteps([{ ...parent!, steps: [result("s", value)] }]);
  await store.exchange([suspension(parent!, [{ ...call(odd), detail: value }], [child])], []);
  expect((await store.find([child.id]))[0]).toMatchObject({ parent: child.parent, tags: [odd] });
  // The cancel leaves the notice of its end, and called again it leaves one to insert it.
  await store.change([child.id], CANCEL);
  await store.endSteps([signalTo(parent!.id, "by", { by: odd, value })]);
  expect(await store.endSteps([signalTo(parent!.id, "by", { by: odd })])).toMatchObject([{ kind: "ok" }]);
  await store.endSteps([signalTo(parent!.id, odd, { kind: "call", value })]);
  const [again] = (await store.exchange([], [claimOf({ turn: 0 })])).claimed[0]!;
  await store.exchange([suspension(again!, [wait("other")], [child])], []);
  const notices = (await store.notices(10)).map(({ notice }) => notice);
  expect(notices).toMatchObject([
    { kind: "end", end: { id: parent!.id, name: odd } },
    { kind: "insert", job: child },
  ]);
  const { steps } = (await store.readSteps(parent!.id, null, null))!;
  expect(steps.map((step) => step.name).toSorted()).toEqual([odd, "by", "other", "s"].toSorted());
  expect(steps.find(({ name }) => name === odd)).toMatchObject({ value, detail: value });
  expect(steps.find(({ name }) => name === "by")).toMatchObject({ by: odd });
});

test("a repeated claim returns a job that was suspended before, too", async () => {
  const store = await openStoreOn(freshUrl(server()));
  await store.configure("default", { limits: readLimits({ rate: "1/h" }) });
  const [lease] = await running(store, 1);
  await store.exchange([suspension(lease!, [sleep("s", 0)])], []);
  await store.promote(10);
  const wanted = claimOf({ turn: 7 });
  const first = (await store.exchange([], [wanted])).claimed[0]!;
  const again = (await store.exchange([], [{ ...wanted, again: true }])).claimed[0]!;
  expect(first.map(({ id }) => id)).toEqual([lease!.id]);
  expect(again.map(({ id, fence }) => ({ id, fence }))).toEqual(first.map(({ id, fence }) => ({ id, fence })));
});
