import { describe, expect } from "vitest";
import { FLOW_QUEUE, FLOW_TYPE, flowMove, retryMember, REVIVE } from "../../../src/core/flow.ts";
import { parentOf } from "../../../src/core/flow-parent.ts";
import type { NewFlow, NewJob } from "../../../src/core/job.ts";
import { CANCEL, OPEN, RETRY } from "../../../src/core/lifecycle.ts";
import { callEnder, type FlowNotice, noticeOf, type Notice } from "../../../src/core/steps.ts";
import type { FlowPage, LeasedRecord, StoredNotice } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, settlementOf, type World } from "../world.ts";

const member = (name: string, state = "s"): { name: string; plan: string; state: string } => ({ name, plan: `plan of ${name} ☃`, state });

const start = (id: string, ...names: string[]): FlowNotice => ({ kind: "flow", id, work: "start", names });

/** A job that is a flow. */
function flowJob(world: World, of: (id: string) => Partial<NewFlow> = () => ({}), wishes: Partial<NewJob> = {}): NewJob {
  const job = world.job({ queue: FLOW_QUEUE, type: FLOW_TYPE });
  return { ...job, blocked: true, flow: { head: "head", members: [], notices: [], ...of(job.id) }, ...wishes };
}

async function addFlow(world: World, of?: (id: string) => Partial<NewFlow>): Promise<string> {
  const job = flowJob(world, of);
  expect(await world.insert(job)).toMatchObject({ kind: "created", status: "blocked" });
  return job.id;
}

async function read(world: World, id: string, ...names: string[]): Promise<FlowPage | null> {
  const [page] = await world.store.readFlows([{ id, names }]);
  return page!;
}

async function pagesOf(world: World, id: string, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  for (let after: string | null = null; ;) {
    const [page] = await world.store.readFlows([{ id, after, limit }]);
    pages.push(page!.members.map(({ name }) => name));
    after = page!.cursor;
    if (after === null) return pages;
    expect(pages.length).toBeLessThan(10_000);
  }
}

async function notices(world: World): Promise<Notice[]> {
  return (await world.store.notices(1_000)).map(({ notice }: StoredNotice) => notice);
}

const byName = (page: FlowPage | null): unknown[] => page!.members.toSorted((one, other) => (one.name < other.name ? -1 : 1));

/** Takes a member, and ends it as a worker would. */
async function endMember(world: World, lease: LeasedRecord, result: string | null): Promise<void> {
  const settlement = settlementOf(lease, { kind: "completed", result, runMs: 1 });
  const { settled } = await world.store.exchange([{ ...settlement, notice: noticeOf(lease, settlement.transition) }], []);
  expect(settled).toEqual(["ok"]);
}

export function flowsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("flows", () => {
    keeps("a flow comes with its members and notices, and waits", async (world) => {
      const id = await addFlow(world, (flow) => ({ members: [member("b"), member("a", "of a")], notices: [start(flow, "a", "b")] }));
      const { now, ...page } = (await read(world, id, "a", "b", "unknown", "a"))!;
      expect({ ...page, members: byName(await read(world, id, "a", "b")) }).toEqual({
        version: 1,
        head: "head",
        members: [member("a", "of a"), member("b")],
        cursor: null,
      });
      expect(now).toBeGreaterThanOrEqual((await world.find(id)).createdAt);
      expect(await notices(world)).toEqual([start(id, "a", "b")]);
      expect(await world.status(id)).toBe("blocked");
      expect(await world.claim({ queues: [FLOW_QUEUE] })).toEqual([]);
    });

    keeps("a flow that is inserted again is the same", async (world) => {
      const job = flowJob(world, (flow) => ({ members: [member("a")], notices: [start(flow, "a")] }));
      await world.insert(job);
      await world.store.changeFlows([{ id: job.id, version: 1, head: "later", states: [], added: [], notices: [] }]);
      expect(await world.insert(job)).toMatchObject({ kind: "created" });
      expect(await read(world, job.id, "a")).toMatchObject({ version: 2, head: "later", members: [member("a")] });
      expect(await notices(world)).toHaveLength(1);
    });

    keeps("two flows with one key are one, and the second leaves nothing behind", async (world) => {
      const key = { idempotencyKey: "import", fingerprint: "f", keyTtlMs: 1000 };
      const [one, same, other] = ["f", "f", "g"].map((fingerprint) =>
        flowJob(world, (flow) => ({ members: [member("a")], notices: [start(flow, "a")] }), { ...key, fingerprint }),
      );
      expect(await world.insert(one!)).toMatchObject({ kind: "created" });
      expect(await world.insert(same!)).toMatchObject({ kind: "known", job: { id: one!.id } });
      expect(await world.insert(other!)).toEqual({ kind: "conflict", id: one!.id });
      expect(await notices(world)).toEqual([start(one!.id, "a")]);
      expect(await world.store.readFlows([{ id: same!.id }, { id: other!.id }])).toEqual([null, null]);
    });

    keeps("flows are inserted beside other jobs, each with its own answer", async (world) => {
      const flow = flowJob(world, () => ({ members: [member("a")] }));
      const [before, after] = [world.job(), world.job()];
      const answers = await world.store.insert([before, flow, after]);
      expect(answers.map(({ kind }) => kind)).toEqual(["created", "created", "created"]);
      expect(await world.claim()).toHaveLength(2);
      expect(byName(await read(world, flow.id, "a"))).toEqual([member("a")]);
    });

    keeps("members are read page by page, each once, within a bound of text", async (world) => {
      const names = Array.from({ length: 57 }, (_, index) => `member ${index}`);
      const id = await addFlow(world, () => ({ members: names.map((name) => member(name)) }));
      const pages = await pagesOf(world, id, 10);
      expect(pages.every(({ length }) => length <= 10)).toBe(true);
      expect(pages.flat().toSorted()).toEqual(names.toSorted());
      expect(await pagesOf(world, id, 10)).toEqual(pages);
      const large = "x".repeat(1_500_000);
      const wide = await addFlow(world, () => ({ members: ["a", "b", "c", "d", "e"].map((name) => ({ name, plan: large, state: "" })) }));
      const wides = await pagesOf(world, wide, 1_000);
      expect(wides.flat().toSorted()).toEqual(["a", "b", "c", "d", "e"]);
      expect(Math.max(...wides.map(({ length }) => length))).toBeLessThan(4);
      expect(await pagesOf(world, await addFlow(world), 10)).toEqual([[]]);
    });

    keeps("a change is applied once, to the version that it was made for", async (world) => {
      const id = await addFlow(world, () => ({ members: [member("a"), member("b")] }));
      const change = {
        id,
        version: 1,
        head: "two",
        states: [
          { name: "a", state: "changed" },
          { name: "unknown", state: "nowhere" },
        ],
        added: [member("c")],
        notices: [start(id, "c")],
      };
      expect(await world.store.changeFlows([change, change])).toEqual(["ok", "stale"]);
      expect(await world.store.changeFlows([change])).toEqual(["stale"]);
      const page = await read(world, id, "a", "b", "c", "unknown");
      expect(page).toMatchObject({ version: 2, head: "two" });
      expect(byName(page)).toEqual([member("a", "changed"), member("b"), member("c")]);
      expect(await notices(world)).toEqual([start(id, "c")]);
      expect(await world.store.changeFlows([{ ...change, version: 2, head: "three", added: [], notices: [] }])).toEqual(["ok"]);
      expect(await read(world, id)).toMatchObject({ version: 3, head: "three" });
    });

    keeps("what is no flow has none, and cannot be changed", async (world) => {
      const { id } = await world.add();
      const unknown = world.newId(FLOW_QUEUE);
      const change = { version: 1, head: "x", states: [], added: [], notices: [start(id, "a")] };
      expect(await world.store.readFlows([{ id }, { id: unknown, names: ["a"] }])).toEqual([null, null]);
      expect(
        await world.store.changeFlows([
          { id, ...change },
          { id: unknown, ...change },
        ]),
      ).toEqual(["missing", "missing"]);
      expect(await notices(world)).toEqual([]);
    });

    keeps("of changes that race, one is applied for each version", async (world) => {
      const id = await addFlow(world);
      const other = await world.elsewhere();
      const rounds = 20;
      for (let version = 1; version <= rounds; version++) {
        const tries = [world, other, world, other].map((one, index) =>
          one.store.changeFlows([
            { id, version, head: `${version} ${index}`, states: [], added: [member(`${version} ${index}`)], notices: [] },
          ]),
        );
        const answers = (await Promise.all(tries)).flat();
        expect(answers.filter((answer) => answer === "ok")).toHaveLength(1);
        expect(answers.filter((answer) => answer === "stale")).toHaveLength(3);
        expect((await read(world, id))!.head).toBe(`${version} ${answers.indexOf("ok")}`);
      }
      expect((await pagesOf(world, id, 1_000)).flat()).toHaveLength(rounds);
    });

    keeps("many members are stored and changed at once", async (world) => {
      const names = Array.from({ length: 10_000 }, (_, index) => `m${index}`);
      const id = await addFlow(world, () => ({ members: names.map((name) => member(name)) }));
      expect((await pagesOf(world, id, 3_000)).flat()).toHaveLength(10_000);
      const states = names.map((name) => ({ name, state: `now ${name}` }));
      expect(await world.store.changeFlows([{ id, version: 1, head: "h", states, added: [], notices: [] }])).toEqual(["ok"]);
      const page = await read(world, id, ...names.slice(0, 1_000));
      expect(page!.members).toHaveLength(1_000);
      expect(page!.members.every(({ name, state }) => state === `now ${name}`)).toBe(true);
    });

    keeps("a flow that is removed or pruned takes its members along", async (world) => {
      const [removed, pruned] = [
        await addFlow(world, () => ({ members: [member("a")] })),
        await addFlow(world, () => ({ members: [member("a")] })),
      ];
      await world.store.change([removed], flowMove("failed"));
      await world.store.change([pruned], flowMove("completed"));
      expect(await world.remove(removed)).toMatchObject({ kind: "ok", was: "failed" });
      expect(await read(world, pruned, "a")).not.toBeNull();
      expect(await world.store.prune([{ queue: FLOW_QUEUE, ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10)).toEqual({ removed: 1 });
      expect(await world.store.readFlows([{ id: removed }, { id: pruned }])).toEqual([null, null]);
      // A later job must not find what was left behind.
      expect((await pagesOf(world, await addFlow(world), 10)).flat()).toEqual([]);
    });

    keeps("the job of a flow takes each status of the flow, and comes back from each but completed", async (world) => {
      const id = await addFlow(world);
      for (const status of ["failed", "running", "cancelled", "running", "failed", "completed"] as const) {
        expect(await world.store.change([id], flowMove(status))).toMatchObject([{ kind: "ok" }]);
        expect(await world.status(id)).toBe(status === "running" ? "blocked" : status);
        expect(await world.store.change([id], flowMove(status))).toMatchObject([{ kind: "refused" }]);
      }
      expect(await world.counts(FLOW_QUEUE)).toEqual({ completed: 1 });
    });

    describe("members", () => {
      const memberOf = (world: World, flow: string, name: string): NewJob => ({
        ...world.job(),
        parent: parentOf(flow, name),
        blocked: true,
      });

      keeps("tell their flow of each end, and of each retry by hand", async (world) => {
        const flow = await addFlow(world);
        const job = memberOf(world, flow, "a ☃");
        await world.insert(job);
        await world.store.change([job.id], OPEN);
        const lease = await world.take();
        await endMember(world, lease, '{"n":1}');
        const told = { id: flow, name: "a ☃", kind: "call", life: 0 };
        expect(await notices(world)).toMatchObject([
          { kind: "end", end: { ...told, state: "done", value: '{"n":1}', by: callEnder(job.id, lease.fence) } },
        ]);
        const cut = memberOf(world, flow, "b");
        await world.insert(cut);
        await world.store.change([cut.id], CANCEL);
        await world.store.change([cut.id], REVIVE);
        expect(await world.status(cut.id)).toBe("blocked");
        await world.store.change([cut.id], CANCEL);
        await world.store.change([cut.id], retryMember(RETRY));
        const { fence } = await world.find(cut.id);
        const all = await notices(world);
        expect(all.slice(1)).toMatchObject([
          { kind: "end", end: { ...told, name: "b", state: "failed", by: callEnder(cut.id, 1) } },
          { kind: "end", end: { ...told, name: "b", state: "open", value: null, by: callEnder(cut.id, 1) } },
          { kind: "end", end: { ...told, name: "b", state: "failed", by: callEnder(cut.id, 2) } },
          { kind: "end", end: { ...told, name: "b", state: "open", value: null, by: callEnder(cut.id, 2) } },
        ]);
        expect(fence).toBe(2);
      });

      keeps("that are to wait again do so until they are opened", async (world) => {
        const flow = await addFlow(world);
        const job = memberOf(world, flow, "a");
        await world.insert(job);
        await world.store.change([job.id], OPEN);
        const lease = { ...(await world.take()), deadLetters: true };
        await world.discard(lease);
        expect(await world.store.change([job.id], retryMember(RETRY))).toMatchObject([{ kind: "ok", was: "dead" }]);
        expect(await world.find(job.id)).toMatchObject({ status: "blocked", retryCount: 0, attempt: 1, completedAt: null });
        world.clock.advance(100 * 24 * 3_600_000);
        await world.store.promote(100);
        expect(await world.status(job.id)).toBe("blocked");
        await world.store.change([job.id], OPEN);
        expect((await world.take()).fence).toBeGreaterThan(lease.fence);
      });
    });
  });
}
