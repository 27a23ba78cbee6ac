/** What is special to flows on PostgreSQL: rows that others hold, commits of others, and versions beside each other. test/conformance proves the rest. */
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../../../src/connect.ts";
import { FLOW_QUEUE, FLOW_TYPE, flowMove, type MemberText } from "../../../../src/core/flow.ts";
import type { NewJob } from "../../../../src/core/job.ts";
import type { FlowNotice } from "../../../../src/core/steps.ts";
import type { FlowChange, FlowChangeAnswer, Hint } from "../../../../src/store/store.ts";
import { signalTo } from "../../../conformance/store/durable-work.ts";
import { until } from "../../../faults/until.ts";
import { connectedTo, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

const MEMBER: MemberText = { name: "a", plan: "{}", state: "{}" };

const start = (id: string): FlowNotice => ({ kind: "flow", id, work: "start", names: ["a"] });

function flowOf(members: readonly MemberText[] = [MEMBER], isTold = false): NewJob {
  const job = jobOf();
  const flow = { head: "head", members, notices: isTold ? [start(job.id)] : [] };
  return { ...job, queue: FLOW_QUEUE, type: FLOW_TYPE, blocked: true, flow };
}

const changeOf = (id: string, more: Partial<FlowChange> = {}): FlowChange => ({
  id,
  version: 1,
  head: "changed",
  states: [{ name: "a", state: "changed" }],
  added: [],
  notices: [],
  ...more,
});

test("a flow whose row somebody holds is locked, also alone in its call, and holds up no other", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  const ids = [flowOf(), flowOf(), flowOf()];
  await store.insert(ids);
  const changes = ids.map(({ id }) => changeOf(id));
  const client = await connectedTo(server());
  await client.query("begin");
  await client.query(`select from ${schemaOf(url)}.flow where job = $1 for update`, [ids[1]!.id]);
  expect(await store.changeFlows([changes[1]!])).toEqual(["locked"]);
  expect(await store.changeFlows([...changes, changeOf(jobOf().id)])).toEqual(["ok", "locked", "ok", "missing"]);
  expect(await store.readFlows([{ id: ids[1]!.id, names: ["a"] }])).toMatchObject([{ version: 1, members: [MEMBER] }]);
  await client.query("rollback");
  expect(await store.changeFlows(changes)).toEqual(["stale", "ok", "stale"]);
});

test("a flow in a transaction of the caller's own is known by its key before the commit, and runs after it", async () => {
  const url = freshUrl(server());
  const client = await connect(url);
  onTestFinished(() => client.close());
  const members = [
    { name: "a", type: "task" },
    { name: "b", type: "task", after: "a" },
  ];
  const tx = await connectedTo(server());
  await tx.query("begin");
  const flow = await client.flow(members, { tx, key: "k" });
  expect(await client.flow(members, { tx, key: "k" })).toEqual({ ...flow, created: false });
  expect(await client.flows.get(flow.id)).toBeNull();
  await tx.query("commit");
  client.work({ task: (_, ctx) => ctx.flow.name });
  expect(await client.flows.wait(flow.id)).toMatchObject({ status: "completed", completed: 2 });
});

test("of many that change the same flows at once, in any order, one is first, and nobody waits for a deadlock", async () => {
  const url = freshUrl(server());
  const stores = [await openStoreOn(url), await openStoreOn(url)];
  const flows = Array.from({ length: 20 }, () => flowOf());
  await stores[0]!.insert(flows);
  const count = (answers: readonly FlowChangeAnswer[]): number => answers.filter((answer) => answer === "ok").length;
  for (let version = 1; version <= 10; version++) {
    const changes = flows.map(({ id }) => changeOf(id, { version }));
    const both = await Promise.all([stores[0]!.changeFlows(changes), stores[1]!.changeFlows(changes.toReversed())]);
    expect(both.flat().toSorted()).toEqual([...flows.map(() => "ok"), ...flows.map(() => "stale")]);
    expect(both.map(count).reduce((sum, one) => sum + one)).toBe(flows.length);
  }
});

test("notices of a flow are heard of here, not elsewhere, once they are committed", async () => {
  const url = freshUrl(server());
  const [store, elsewhere] = [await openStoreOn(url), await openStoreOn(url)];
  const heard: string[] = [];
  const listenTo = (name: string) => (hint: Hint) => void (hint.topic === "notices" && heard.push(name));
  store.watch(listenTo("here"));
  elsewhere.watch(listenTo("elsewhere"));
  const quiet = flowOf();
  await store.insert([quiet]);
  await store.changeFlows([changeOf(quiet.id)]);
  expect(heard).toEqual([]);
  const client = await connectedTo(server());
  await client.query("begin");
  await store.within(client)!.insert([flowOf([MEMBER], true)]);
  expect(await store.notices(10)).toEqual([]);
  expect(heard).toEqual([]);
  await client.query("commit");
  await until(() => heard.length === 1);
  await store.insert([flowOf([MEMBER], true)]);
  expect(heard).toHaveLength(2);
  await store.changeFlows([changeOf(quiet.id, { version: 2, notices: [start(quiet.id)] })]);
  expect(heard).toEqual(["here", "here", "here"]);
  expect(await store.notices(10)).toHaveLength(3);
});

test("an open transaction that inserts a flow holds up no other flow, nor other jobs", async () => {
  const store = await openStoreOn(freshUrl(server()));
  const client = await connectedTo(server());
  await client.query("begin");
  await store.within(client)!.insert([flowOf([MEMBER], true)]);
  const other = flowOf();
  expect(await store.insert([other, jobOf()])).toMatchObject([{ kind: "created" }, { kind: "created" }]);
  expect(await store.changeFlows([changeOf(other.id)])).toEqual(["ok"]);
  await client.query("rollback");
});

test("what is beside a flow goes with its job, also if a process of an older version removes it, or if it was signalled", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  const [old, signalled, pruned, kept] = [flowOf(), { ...flowOf(), meta: '{"a":1}' }, flowOf(), flowOf()];
  await store.insert([old, signalled, pruned, kept]);
  expect(await store.endSteps([signalTo(signalled.id, "s")])).toMatchObject([{ kind: "ok" }]);
  await store.change([signalled.id, pruned.id], flowMove("completed"));
  const client = await connectedTo(server());
  // All that an older version does with a body.
  await client.query(`delete from ${schemaOf(url)}.job where id = $1`, [old.id]);
  await store.remove([signalled.id], ["completed"]);
  await store.prune([{ queue: FLOW_QUEUE, ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10);
  const left = await client.query(`select job from ${schemaOf(url)}.flow union select flow from ${schemaOf(url)}.member`);
  expect(left.rows).toEqual([{ job: kept.id }]);
});

test("many flows are pruned up to the limit, a few in each commit", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  const flows = Array.from({ length: 45 }, () => flowOf());
  await store.insert(flows);
  await store.change(
    flows.map(({ id }) => id),
    flowMove("completed"),
  );
  const client = await connectedTo(server());
  await client.query(`create table ${schemaOf(url)}.gone as select pg_current_xact_id() as commit, job from ${schemaOf(url)}.flow limit 0;
    create function ${schemaOf(url)}.note_gone() returns trigger language plpgsql as
      'begin insert into ${schemaOf(url)}.gone values (pg_current_xact_id(), old.job); return null; end';
    create trigger note_gone after delete on ${schemaOf(url)}.flow for each row execute function ${schemaOf(url)}.note_gone()`);
  const rule = { queue: FLOW_QUEUE, ageMs: 0, count: 0, keepAtLeastMs: 0 };
  expect(await store.prune([rule], 38)).toEqual({ removed: 38 });
  expect(await store.prune([rule], 38)).toEqual({ removed: 7 });
  expect(await store.prune([rule], 38)).toEqual({ removed: 0 });
  const { rows } = await client.query<{ count: string }>(
    `select count(*) from ${schemaOf(url)}.gone group by commit order by commit::text::bigint`,
  );
  expect(rows.map(({ count }) => Number(count))).toEqual([10, 10, 10, 8, 7]);
});

test("names that the server cannot hold come back as they were, page by page, too", async () => {
  const store = await openStoreOn(freshUrl(server()));
  const names = ["\ud800", "a", "\u{1f600}", "é"];
  const flow = flowOf(names.map((name) => ({ ...MEMBER, name, plan: JSON.stringify({ text: "\u0000 \ud800" }) })));
  await store.insert([flow]);
  const states = names.map((name) => ({ name, state: `of ${name.codePointAt(0)}` }));
  await store.changeFlows([changeOf(flow.id, { states })]);
  const members = states.map((state) => ({ ...state, plan: JSON.stringify({ text: "\u0000 \ud800" }) }));
  const [named] = await store.readFlows([{ id: flow.id, names }]);
  expect(named!.members).toEqual(members);
  const paged: MemberText[] = [];
  for (let after: string | null = null; paged.length < names.length;) {
    const [page] = await store.readFlows([{ id: flow.id, after, limit: 1 }]);
    paged.push(...page!.members);
    after = page!.cursor;
  }
  expect(paged).toHaveLength(names.length);
  expect(new Set(paged)).toEqual(new Set(members));
});
