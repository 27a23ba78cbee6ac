import { describe, expect } from "vitest";
import type { Client, CreatedFlow, FlowMemberInput } from "../../../src/client/client.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { flowMove } from "../../../src/core/flow.ts";
import type { Status } from "../../../src/core/job.ts";
import type { Outcome } from "../../../src/core/lifecycle.ts";
import { noticeOf } from "../../../src/core/steps.ts";
import { tellFlows, workFlows } from "../../../src/flows/deliver.ts";
import type { LeaseAnswer, LeasedRecord, Settlement } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, type Held, keepsOn, LEASE_MS, settlementOf, type World } from "../world.ts";
import { openClient } from "./client-of-world.ts";

/** How many members the large flows have. An engine without a server shows it of as many as one call can add. */
const LARGE = Number(process.env["MILLRACE_TEST_FLOW_MEMBERS"] ?? 0);

const QUIET = { wanted: () => false, publish: () => {}, ended: () => {} };

const member = (name: string, after: FlowMemberInput["after"] = [], rest: Partial<FlowMemberInput> = {}): FlowMemberInput => ({
  name,
  type: "task",
  payload: name,
  after,
  ...rest,
});

/** One turn of upkeep in one process. Returns how many notices there were. */
async function turn(world: World): Promise<number> {
  const parts = { store: world.store, clock: world.clock, announce: QUIET };
  const found = await world.store.notices(500);
  const ends = found.flatMap(({ key, notice }) => (notice.kind === "end" ? [[key, notice.end] as const] : []));
  const works = found.flatMap(({ key, notice }) => (notice.kind === "flow" ? [[key, notice] as const] : []));
  await world.store.dropNotices([...(await tellFlows(parts, ends)), ...(await workFlows(parts, works))]);
  return found.length;
}

/** Upkeep in all of these processes at once, until nothing is left to tell. */
async function deliver(...worlds: readonly World[]): Promise<void> {
  for (let turns = 0; ; turns++) {
    expect(turns).toBeLessThan(1_000);
    const found = await Promise.all(worlds.map(turn));
    if (found.every((count) => count === 0)) return;
  }
}

function endOf(held: Held & Pick<LeasedRecord, "parent">, outcome: Outcome): Settlement {
  const settlement = settlementOf(held, outcome, outcome.kind === "lost");
  return { ...settlement, notice: noticeOf(held, settlement.transition) };
}

async function end(world: World, held: Held & Pick<LeasedRecord, "parent">, outcome: Outcome = DONE): Promise<LeaseAnswer> {
  return (await world.store.exchange([endOf(held, outcome)], [])).settled[0]!;
}

const DONE: Outcome = { kind: "completed", result: '"done"', runMs: 1 };
const DEATH: Outcome = { kind: "discard", error: BOOM, runMs: 1 };

/** Runs all that may run until nothing more may, in one process. Returns the names of what ran, in order. */
async function drain(world: World, outcomeOf: (name: string) => Outcome = () => DONE): Promise<string[]> {
  const ran: string[] = [];
  for (;;) {
    await deliver(world);
    const leases = await world.claim();
    if (leases.length === 0) return ran;
    ran.push(...leases.map(({ parent }) => parent!.step));
    const settlements = leases.map((lease) => endOf(lease, outcomeOf(lease.parent!.step)));
    expect(new Set((await world.store.exchange(settlements, [])).settled)).toEqual(new Set(["ok"]));
  }
}

async function statuses(world: World, { jobs }: Pick<CreatedFlow, "jobs">): Promise<Record<string, Status | null>> {
  const names = Object.keys(jobs);
  const found = await world.store.find(names.map((name) => jobs[name]!));
  return Object.fromEntries(names.map((name, index) => [name, found[index]?.status ?? null]));
}

async function prune(world: World): Promise<number> {
  const rule = { queue: "default", ageMs: 0, count: 1_000, keepAtLeastMs: 0 };
  world.clock.advance(1);
  return (await world.store.prune([rule], 1_000)).removed;
}

/** A client whose process dies when it has stored a flow: before it says that it stored the jobs, or before it stored one. */
function dyingClient(world: World, before: "insert" | "changeFlows"): Client {
  const die = (): never => {
    throw new MillraceError("store_unavailable", "the producer died");
  };
  return openClient(world, {
    insert: (jobs) => (before === "insert" && jobs.some(({ parent }) => (parent ?? null) !== null) ? die() : world.store.insert(jobs)),
    changeFlows: (changes) => (before === "changeFlows" ? die() : world.store.changeFlows(changes)),
  });
}

export function flowEndsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);
  const isServed = engine.forgets === undefined;

  describe("the ends of the members of a flow", () => {
    keeps("50 at once, told by two processes: the callback opens once", async (world) => {
      const other = await world.elsewhere();
      const flow = await openClient(world).flow([...Array.from({ length: 50 }, (_, index) => member(`m${index}`)), member("done", "*")]);
      await deliver(world);
      const leases = await world.claim();
      expect(leases).toHaveLength(50);
      const ending = leases.map((lease, index) => end(index % 2 === 0 ? world : other, lease));
      await Promise.all([...ending, deliver(world), deliver(other)]);
      await deliver(world, other);
      const [done, ...others] = await world.claim();
      expect([done?.parent?.step, others]).toEqual(["done", []]);
      expect(await end(world, done!)).toBe("ok");
      await deliver(world, other);
      expect(await openClient(other).flows.get(flow.id)).toMatchObject({ status: "completed", completed: 51, open: 0 });
      expect(await world.status(flow.id)).toBe("completed");
    });

    const TIMED_OUT: Outcome = { kind: "failed", error: { ...BOOM, kind: "timeout" }, runMs: 1 };
    const ways: Record<string, (world: World, client: Client, held: LeasedRecord) => Promise<unknown>> = {
      "a lost lease": async (world, _, held) => {
        world.clock.advance(LEASE_MS);
        expect(await end(world, { ...held, maxLost: 0 }, { kind: "lost" })).toBe("ok");
      },
      "a discard": (world, _, held) => end(world, held, DEATH),
      "a timeout": (world, _, held) => end(world, { ...held, maxRetries: 0 }, TIMED_OUT),
      "a cancel": (_, client, { id }) => client.cancel(id),
      "a removal": (_, client, { id }) => client.cancel(id).then(() => client.remove(id)),
    };
    for (const [way, happens] of Object.entries(ways)) {
      keeps(`by ${way}: what waits for it is cancelled, waits or runs, as it says`, async (world) => {
        const client = openClient(world);
        const flow = await client.flow([
          member("a"),
          member("b", "a"),
          member("below", "b"),
          member("c", "a", { onFailure: "run" }),
          member("d", "a", { onFailure: "wait" }),
        ]);
        await deliver(world);
        const [held] = await world.claim();
        await happens(world, client, held!);
        await deliver(world);
        expect(await statuses(world, flow)).toMatchObject({ b: "cancelled", below: "cancelled", c: "pending", d: "blocked" });
        expect(await drain(world)).toEqual(["c"]);
        expect(await client.flows.get(flow.id)).toMatchObject({ status: "running", stuck: { count: 1, names: ["d"] }, completed: 1 });
      });
    }

    keeps(
      "nested, two levels down: a retry of the first by hand revives them all, and the callback runs once after them",
      async (world) => {
        const client = openClient(world);
        const flow = await client.flow([member("a"), member("b", "a"), member("c", "b"), member("d", ["c"]), member("done", "*")]);
        expect(await drain(world, () => DEATH)).toEqual(["a"]);
        expect(await client.flows.get(flow.id)).toMatchObject({ status: "failed", failed: 1, cancelled: 4 });
        expect((await world.find(flow.jobs.d!)).error!.message).toContain('"c" ended cancelled');
        await client.retry(flow.jobs.a!);
        expect(await drain(world)).toEqual(["a", "b", "c", "d", "done"]);
        expect(await client.flows.get(flow.id)).toMatchObject({ status: "completed", completed: 5, failed: 0, cancelled: 0 });
      },
    );

    keeps("outlive the jobs: results are there when the retention of a predecessor is over, told before or after", async (world) => {
      const client = openClient(world);
      const flow = await client.flow([member("a"), member("b"), member("sum", ["a", "b"])]);
      await deliver(world);
      const leases = await world.claim();
      for (const [index, lease] of leases.entries()) {
        await end(world, lease);
        if (index === 0) await deliver(world);
        expect(await prune(world)).toBe(1);
      }
      await deliver(world);
      expect(await statuses(world, flow)).toEqual({ a: null, b: null, sum: "pending" });
      const { outcomes } = await client.flows.outcomes(flow.id, "sum");
      const seen = outcomes.map(({ name, status, result }) => `${name} ${status} ${String(result)}`);
      expect(seen.toSorted()).toEqual(["a completed done", "b completed done"]);
      expect(await drain(world)).toEqual(["sum"]);
      expect(await client.flows.get(flow.id)).toMatchObject({ status: "completed", completed: 3 });
    });

    keeps("a member that is revived when its cancelled job is gone gets another one, which runs", async (world) => {
      const client = openClient(world);
      const flow = await client.flow([member("a"), member("b", "a"), member("c", "b")]);
      await drain(world, () => DEATH);
      expect(await prune(world)).toBe(2);
      await client.retry(flow.jobs.a!);
      expect(await drain(world)).toEqual(["a", "b", "c"]);
      const { members } = await client.flows.members(flow.id);
      expect(members.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
      expect(members.find(({ name }) => name === "b")!.jobId).not.toBe(flow.jobs.b);
      expect(await client.flows.get(flow.id)).toMatchObject({ status: "completed", completed: 3 });
    });

    keeps("a completed flow is completed for good: who is late to say that it runs again changes nothing", async (world) => {
      const { id } = await openClient(world).flow([member("a")]);
      await drain(world);
      for (const late of ["running", "failed", "cancelled"] as const) {
        expect(await world.store.change([id], flowMove(late))).toEqual([{ kind: "refused", status: "completed" }]);
      }
    });
  });

  describe("a producer that dies while it creates a flow", () => {
    for (const before of ["insert", "changeFlows"] as const) {
      const when = before === "insert" ? "before it stored a job" : "before it said that the jobs are stored";
      keeps(`${when}: upkeep of another process starts it`, async (world) => {
        const members = [member("a"), member("b", "a", { queue: "slow" }), member("c", "*", { queue: "mail" })];
        await expect(dyingClient(world, before).flow(members)).rejects.toMatchObject({ code: "store_unavailable" });
        const other = await world.elsewhere();
        await deliver(other);
        const client = openClient(other);
        const [flow] = (await client.flows.list()).flows;
        expect(flow).toMatchObject({ status: "running", members: 3 });
        for (const [name, queue] of [
          ["a", "default"],
          ["b", "slow"],
          ["c", "mail"],
        ] as const) {
          const lease = await other.take({ queues: [queue] });
          expect(lease.parent!.step).toBe(name);
          await end(other, lease);
          await deliver(other);
        }
        expect(await client.flows.get(flow!.id)).toMatchObject({ status: "completed", completed: 3 });
      });
    }

    keeps("a member that died and was retried, before anybody said that it was stored, holds nothing up", async (world) => {
      await expect(dyingClient(world, "changeFlows").flow([member("a"), member("b", "a")])).rejects.toMatchObject({
        code: "store_unavailable",
      });
      const client = openClient(world);
      const [start] = await world.store.notices(10);
      const [lease] = await world.claim();
      await end(world, lease!, DEATH);
      await client.retry(lease!.id);
      const parts = { store: world.store, clock: world.clock, announce: QUIET };
      // What is told of it comes before the notice that starts the flow.
      for (const { key, notice } of await world.store.notices(10)) {
        if (notice.kind === "end") await world.store.dropNotices(await tellFlows(parts, [[key, notice.end]]));
      }
      expect((await world.store.notices(10)).map(({ key }) => key)).toContain(start!.key);
      expect(await drain(world)).toEqual(["a", "b"]);
      const [flow] = (await client.flows.list()).flows;
      expect(flow).toMatchObject({ status: "completed", completed: 2, open: 0 });
    });

    keeps("a member that ended and whose job is gone, before anybody said that it was stored, is not stored again", async (world) => {
      await expect(dyingClient(world, "changeFlows").flow([member("a"), member("b", "a")])).rejects.toMatchObject({
        code: "store_unavailable",
      });
      const [start] = await world.store.notices(10);
      const [lease] = await world.claim();
      await end(world, lease!);
      await world.store.dropNotices([start!.key]);
      await deliver(world);
      expect(await prune(world)).toBe(1);
      // The notice that starts the flow comes last.
      const parts = { store: world.store, clock: world.clock, announce: QUIET };
      if (start!.notice.kind !== "flow") throw new Error("a flow is stored with the notice that starts it");
      await workFlows(parts, [[start!.key, start!.notice]]);
      expect(await world.status(lease!.id)).toBeNull();
      expect(await drain(world)).toEqual(["b"]);
      expect(await openClient(world).flows.get(start!.notice.id)).toMatchObject({ status: "completed", completed: 2 });
    });
  });

  if (engine.hasTransactions === true) {
    describe("a flow in a transaction of the caller's own", () => {
      keeps("leaves nothing when that is rolled back", async (world) => {
        const client = openClient(world);
        const { tx, rollback } = await world.opened.begin!();
        await client.flow([member("a"), member("b", "a")], { tx, key: "k" });
        await rollback();
        expect([await client.flows.list(), await client.list({ internal: true }), await world.store.notices(10)]).toMatchObject([
          { flows: [] },
          { jobs: [] },
          [],
        ]);
        expect(await client.flow([member("a")], { key: "k" })).toMatchObject({ created: true });
      });

      keeps("starts with one turn of upkeep of another process, once it is committed", async (world) => {
        const client = openClient(world);
        const { tx, commit } = await world.opened.begin!();
        const flow = await client.flow([member("a"), member("b", "a")], { tx });
        await commit();
        const other = await world.elsewhere();
        expect(await turn(other)).toBe(1);
        expect(await statuses(world, flow)).toEqual({ a: "pending", b: "blocked" });
        expect(await drain(other)).toEqual(["a", "b"]);
        expect(await client.flows.get(flow.id)).toMatchObject({ status: "completed" });
      });
    });
  }

  describe("a large flow", () => {
    const size = LARGE || (isServed ? 300 : 10_000);
    keeps(`of ${size} members, out from one and in to one, comes to its end`, async (world) => {
      const client = openClient(world);
      const between = Array.from({ length: size - 2 }, (_, index) => member(`m${index}`, "first"));
      const flow = await client.flow([
        member("first"),
        ...between,
        member(
          "last",
          between.map(({ name }) => name),
        ),
      ]);
      const ran = await drain(world);
      expect(ran).toHaveLength(size);
      expect([ran[0], ran.at(-1)]).toEqual(["first", "last"]);
      expect(await client.flows.get(flow.id)).toMatchObject({ status: "completed", completed: size });
    });

    const links = LARGE || !isServed ? 200 : 40;
    keeps(`that is a chain of ${links} comes to its end, link by link`, async (world) => {
      const client = openClient(world);
      const names = Array.from({ length: links }, (_, index) => `m${index}`);
      const flow = await client.flow(names.map((name, index) => member(name, names.slice(Math.max(0, index - 1), index))));
      expect(await drain(world)).toEqual(names);
      expect(await client.flows.get(flow.id)).toMatchObject({ status: "completed", completed: links });
    });
  });
}
