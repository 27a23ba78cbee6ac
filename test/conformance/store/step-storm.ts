import { describe, expect } from "vitest";
import { callEnder, CALLERS } from "../../../src/core/steps.ts";
import type { LeasedRecord, Settlement } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, settlementOf, type World } from "../world.ts";
import { call, childOf, keep, read, result, send, signal, stepsOf, suspension, wait } from "./durable-work.ts";

const JOBS = 40;
const SIGNALS = ["first", "second"];
const [PARENTS, CHILDREN] = ["parents", "children"];

/** Many jobs that wait for signals and call others, worked by many through two connections. */
class Storm {
  readonly #world: World;
  /** What each suspension called, by its step's job. */
  readonly #called = new Set<string>();
  readonly #signalled = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  async isOver(): Promise<boolean> {
    return (await this.#world.counts(PARENTS)).completed === JOBS;
  }

  /** What a handler does: keeps a result, waits for one signal after the other, then calls a job. */
  async runParent(world: World, lease: LeasedRecord): Promise<void> {
    const steps = new Map((await read(world, lease.id, lease.fence)).steps.map((step) => [step.name, step.state]));
    if (!steps.has("result")) expect(await keep(world, lease, result("result"))).toBe("ok");
    const open = SIGNALS.find((name) => steps.get(name) !== "done");
    if (open !== undefined) return expect(await send(world, suspension(lease, [wait(open)]))).toBe("ok");
    if (steps.get("call") === "done") return expect(await world.complete(lease)).toBe("ok");
    expect(this.#called, "it was called once").not.toContain(lease.id);
    this.#called.add(lease.id);
    const child = childOf(world, lease, "call", { queue: CHILDREN });
    expect(await send(world, suspension(lease, [call("call")], [child]))).toBe("ok");
  }

  /** A called job completes, and tells it. */
  async runChild(world: World, lease: LeasedRecord): Promise<void> {
    const { id, fence, parent } = lease;
    const end = {
      id: parent!.id,
      name: parent!.step,
      kind: "call",
      state: "done",
      value: "1",
      by: callEnder(id, fence),
      life: 1,
      from: CALLERS,
    } as const;
    const done = settlementOf(lease, { kind: "completed", result: "1", runMs: 1 });
    const settlement: Settlement = { ...done, notice: { kind: "end", end } };
    expect(await send(world, settlement)).toBe("ok");
    expect(await send(world, settlement), "its answer was lost").toBe("ok");
  }

  async work(world: World, workerId: string): Promise<void> {
    while (!(await this.isOver())) {
      for (const lease of await world.claim({ workerId, queues: [PARENTS, CHILDREN], limit: 3, turn: 0 })) {
        await (lease.queue === PARENTS ? this.runParent(world, lease) : this.runChild(world, lease));
      }
    }
  }

  /** Sends every signal; another sender of the same name is late. */
  async signalAll(world: World, ids: readonly string[], by: string): Promise<void> {
    for (const name of SIGNALS) {
      for (const id of ids) {
        const { kind } = await signal(world, id, name, { by });
        if (kind === "ok") this.#signalled.set(`${id} ${name}`, (this.#signalled.get(`${id} ${name}`) ?? 0) + 1);
        else expect(["late", "refused"]).toContain(kind);
      }
    }
  }

  async deliver(world: World): Promise<void> {
    while (!(await this.isOver())) {
      const stored = await world.store.notices(10);
      for (const { notice } of stored) {
        if (notice.kind === "end") await world.store.endSteps([notice.end]);
        if (notice.kind === "insert") await world.store.insert([notice.job]);
      }
      await world.store.dropNotices(stored.map(({ key }) => key));
    }
  }

  expectSignalledOnce(): void {
    expect([...this.#signalled.values()]).toEqual(Array(JOBS * SIGNALS.length).fill(1));
  }
}

export function stepStormSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("many suspended jobs at once", () => {
    keeps("all go on: each signal is taken once, each call is made once, and no end is slept through", async (world) => {
      const other = await world.elsewhere();
      const jobs = await world.addMany(JOBS, { queue: PARENTS });
      const ids = jobs.map(({ id }) => id);
      const storm = new Storm(world);
      await Promise.all([
        storm.work(world, "one"),
        storm.work(other, "two"),
        storm.work(other, "three"),
        storm.signalAll(world, ids, "ann"),
        storm.signalAll(other, ids.toReversed(), "bob"),
        storm.deliver(world),
        storm.deliver(other),
      ]);
      storm.expectSignalledOnce();
      expect([await world.counts(PARENTS), await world.counts(CHILDREN)]).toEqual([{ completed: JOBS }, { completed: JOBS }]);
      for (const job of await world.store.find(ids)) expect(job).toMatchObject({ attempt: 1, hasSteps: true, retryCount: 0 });
      for (const id of ids) {
        const steps = await stepsOf(world, id);
        expect(steps.map(({ name, state }) => `${name} ${state}`)).toEqual(["call done", "first done", "result done", "second done"]);
      }
    });
  });
}
