import { expect, onTestFinished, test } from "vitest";
import { FLOW_QUEUE, FLOW_TYPE, flowMove } from "../../../../src/core/flow.ts";
import type { NewFlow, NewJob } from "../../../../src/core/job.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { flowBucketOf } from "../../../../src/store/redis/keys.ts";
import { FLOW_BUCKETS, MOST_BESIDE_HEAD } from "../../../../src/store/redis/layout.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import type { FlowChange, Store } from "../../../../src/store/store.ts";
import { TcpProxy } from "../../../servers/tcp-proxy.ts";
import { jobOf, openAt, prefix } from "./open.ts";
import { serverOfThisFile } from "./server-of-this-file.ts";

const { server, redis } = serverOfThisFile();

const names = (count: number, from = 0): string[] => Array.from({ length: count }, (_, index) => `member ${from + index}`);
const membersOf = (some: readonly string[]): NewFlow["members"] => some.map((name) => ({ name, plan: `plan of ${name} ☃`, state: "new" }));
const flowOf = (members: readonly string[], notices: NewFlow["notices"] = []): NewJob => {
  return jobOf({ queue: FLOW_QUEUE, type: FLOW_TYPE, blocked: true, flow: { head: "head", members: membersOf(members), notices } });
};
const changeOf = (id: string, version: number, change: Partial<FlowChange> = {}): FlowChange => {
  return { id, version, head: `head ${version + 1}`, states: [], added: [], notices: [], ...change };
};

async function opened(): Promise<{ at: string; store: Store }> {
  const at = prefix();
  const store = await openRedisStore(`${server().url}?prefix=${at}`, { clock: systemClock, deadlineMs: 10_000 });
  onTestFinished(() => store.close());
  return { at, store };
}

/** How many fields each key of the flows has. */
async function sizesOf(at: string): Promise<number[]> {
  const keys = await redis().keys(`${at}:{${partitionOf(FLOW_QUEUE)}}:fl:*`);
  return Promise.all(keys.map((key) => redis().hlen(key)));
}

async function statesOf(store: Store, id: string): Promise<Map<string, string>> {
  const states: [string, string][] = [];
  for (let after: string | null = null; ;) {
    const [page] = await store.readFlows([{ id, after, limit: 700 }]);
    states.push(...page!.members.map(({ name, state }): [string, string] => [name, state]));
    after = page!.cursor;
    if (after === null) break;
  }
  // Each member is there once.
  expect(new Set(states.map(([name]) => name)).size).toBe(states.length);
  return new Map(states);
}

test("a flow with few members is one key; when it grows, all that come later are in buckets", async () => {
  const { at, store } = await opened();
  const most = MOST_BESIDE_HEAD;
  const job = flowOf(names(most - 400));
  await store.insert([job]);
  expect(await sizesOf(at)).toEqual([2 + 2 * (most - 400)]);
  const add = (version: number, added: readonly string[]): FlowChange => changeOf(job.id, version, { added: membersOf(added) });
  expect(await store.changeFlows([add(1, names(400, most - 400))])).toEqual(["ok"]);
  expect(await sizesOf(at)).toEqual([2 + 2 * most]);
  expect(await store.changeFlows([add(2, names(1, most)), add(3, names(1_999, most + 1))])).toEqual(["ok", "ok"]);
  expect(Math.max(...(await sizesOf(at)))).toBe(3 + 2 * most);
  expect(await statesOf(store, job.id)).toEqual(new Map(names(most + 2_000).map((name) => [name, "new"])));

  // Members of both kinds are found, and changed where they are.
  const changed = [...names(4, most - 2), ...names(3, most + 1_000)];
  const states = [...changed, "nobody"].map((name) => ({ name, state: `now ${name}` }));
  expect(await store.changeFlows([changeOf(job.id, 4, { states })])).toEqual(["ok"]);
  const [page] = await store.readFlows([{ id: job.id, names: [...changed, "nobody", "member 5"] }]);
  expect(page!.version).toBe(5);
  expect(new Map(page!.members.map(({ name, state }) => [name, state]))).toEqual(
    new Map([...changed.map((name): [string, string] => [name, `now ${name}`]), ["member 5", "new"]]),
  );
  expect(page!.members.every(({ name, plan }) => plan === `plan of ${name} ☃`)).toBe(true);
  expect((await statesOf(store, job.id)).size).toBe(most + 2_000);
});

test("no key of a flow has most of its members: a Cluster would move it as one", async () => {
  const { at, store } = await opened();
  const job = flowOf(names(10_000));
  await store.insert([job]);
  await store.changeFlows([changeOf(job.id, 1, { added: membersOf(names(10_000, 10_000)) })]);
  const sizes = await sizesOf(at);
  expect(sizes).toHaveLength(1 + FLOW_BUCKETS);
  expect(Math.max(...sizes)).toBeLessThan((1.3 * 2 * 20_000) / FLOW_BUCKETS);
  expect((await statesOf(store, job.id)).size).toBe(20_000);
});

test("a flow that is removed or pruned leaves no key behind, whatever its size", async () => {
  const { at, store } = await opened();
  const [small, large, pruned] = [flowOf(names(3)), flowOf(names(5_000)), flowOf(names(5_000))];
  await store.insert([small, large, pruned]);
  await store.change([small.id, large.id], flowMove("failed"));
  await store.change([pruned.id], flowMove("completed"));
  expect(await store.remove([small.id, large.id], ["failed"])).toMatchObject([{ kind: "ok" }, { kind: "ok" }]);
  expect(await sizesOf(at)).toHaveLength(1 + FLOW_BUCKETS);
  await store.prune([{ queue: FLOW_QUEUE, ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10);
  expect(await sizesOf(at)).toEqual([]);
});

test("flows and other jobs of a list are in the order of the list", async () => {
  const { store } = await opened();
  // In a queue that lists show: they leave out internal ones.
  const flow = (): NewJob => jobOf({ blocked: true, flow: { head: "head", members: membersOf(["a"]), notices: [] } });
  const jobs = [jobOf(), flow(), jobOf(), jobOf({ queue: "other" }), jobOf(), flow(), flow(), jobOf()];
  await store.insert(jobs);
  const listed = (await store.list({ limit: 10 })).jobs.map(({ id }) => id);
  expect(listed).toEqual(jobs.map(({ id }) => id).reverse());
});

test("an insert and a change whose answers are lost are applied once", async () => {
  const wire = await TcpProxy.to(Number(new URL(server().url).port));
  const store = await openAt(`redis://127.0.0.1:${wire.port}`);
  onTestFinished(async () => {
    await store.close();
    wire.close();
  });
  const job = flowOf(["a"]);
  const start = { kind: "flow", id: job.id, work: "start", names: ["a"] } as const;
  const noted = { ...job, flow: { ...job.flow!, head: "far-away", notices: [start] } };
  // The first call for a queue registers it, and only then the job is stored.
  await store.insert([flowOf([])]);
  const swallowed = wire.swallowAnswerTo(/far-away/);
  const inserted = store.insert([noted]);
  await swallowed;
  expect(await inserted).toMatchObject([{ kind: "created", status: "blocked" }]);
  expect(await store.notices(10)).toHaveLength(1);

  const lost = wire.swallowAnswerTo(/farther/);
  const changed = store.changeFlows([changeOf(job.id, 1, { head: "farther", added: membersOf(["b"]), notices: [start] })]);
  await lost;
  expect(await changed).toEqual(["stale"]);
  const [page] = await store.readFlows([{ id: job.id, names: ["a", "b"] }]);
  expect(page).toMatchObject({ version: 2, head: "farther" });
  expect(page!.members).toHaveLength(2);
  expect(await store.notices(10)).toHaveLength(2);
});

test("a full server refuses a flow, and a change of one, with nothing done", async () => {
  const { at, store } = await opened();
  const job = flowOf(["a"]);
  await store.insert([job]);
  const contents = async (): Promise<string[]> => (await redis().keys(`${at}:*`)).toSorted();
  const before = await contents();
  await redis().config("SET", "maxmemory", "1");
  onTestFinished(async () => void (await redis().config("SET", "maxmemory", "0")));
  await expect(store.insert([flowOf(names(2_000))])).rejects.toMatchObject({ code: "store_full" });
  await expect(store.changeFlows([changeOf(job.id, 1, { added: membersOf(names(2_000)) })])).rejects.toMatchObject({ code: "store_full" });
  await redis().config("SET", "maxmemory", "0");
  expect(await contents()).toEqual(before);
  expect(await store.readFlows([{ id: job.id, names: ["a"] }])).toMatchObject([{ version: 1, head: "head" }]);
});

test("the bucket of a member never changes: it would not be found any more", () => {
  expect(["a", "member 1", "☃", "x".repeat(100)].map(flowBucketOf)).toEqual([33, 14, 10, 50]);
});
