import { describe, expect } from "vitest";
import type { Client, FlowMember, FlowMemberInput } from "../../../src/client/client.ts";
import { ALL_OTHERS, FLOW_QUEUE, jobStatusOf } from "../../../src/core/flow.ts";
import { isTerminal, type Status } from "../../../src/core/job.ts";
import type { Outcome } from "../../../src/core/lifecycle.ts";
import { noticeOf } from "../../../src/core/steps.ts";
import { tellFlows, workFlows } from "../../../src/flows/deliver.ts";
import type { FlowParts } from "../../../src/flows/flow-parts.ts";
import type { LeasedRecord, StoredNotice } from "../../../src/store/store.ts";
import { Random } from "../../simulation/random.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, settlementOf, type World } from "../world.ts";
import { openClient } from "./client-of-world.ts";

const RUNS = Number(process.env["MILLRACE_TEST_RUNS"] ?? 4);
const SEED = process.env["MILLRACE_TEST_SEED"] ?? String(Date.now());
const QUEUES = ["default", "mail", "slow"];
const MOST_MEMBERS = 40;

/** A member as the test made it, and what it saw of its job. */
interface Seen {
  readonly id: string;
  readonly after: readonly string[] | "*";
  readonly onFailure: string;
  /** It was there from the start. */
  readonly isFirstCall: boolean;
  hasEnded: boolean;
  hasCompleted: boolean;
}

/** One flow with a random graph. Everything that may happen to it does, in any order; notices come late, twice, and in any order. */
class FlowRun {
  readonly #world: World;
  readonly #client: Client;
  readonly #random: Random;
  readonly #parts: FlowParts;
  readonly #members = new Map<string, Seen>();
  #flow = "";

  constructor(world: World, client: Client, random: Random) {
    this.#world = world;
    this.#client = client;
    this.#random = random;
    const announce = { wanted: () => false, publish: () => {}, ended: () => {} };
    this.#parts = { store: world.store, clock: world.clock, announce };
  }

  async start(): Promise<void> {
    const members = this.#graph(this.#random.int(1, MOST_MEMBERS), "m", []);
    const { id, jobs } = await this.#client.flow(members);
    this.#flow = id;
    this.#remember(members, jobs, true);
  }

  /** Members that wait for some of those before them. */
  #graph(size: number, prefix: string, there: readonly string[]): FlowMemberInput[] {
    const random = this.#random;
    const names = [...there];
    return Array.from({ length: size }, (_, index) => {
      const name = `${prefix}${index}`;
      const after = random.chance(0.05) ? ("*" as const) : random.some(names, random.pick([0, 0.1, 0.3]));
      if (after !== "*") names.push(name);
      return {
        name,
        type: "task",
        queue: random.pick(QUEUES),
        payload: name,
        maxRetries: random.int(0, 2),
        retryDelay: 0,
        after,
        onFailure: random.pick(["cancel", "cancel", "run", "wait"] as const),
      };
    });
  }

  #remember(members: readonly FlowMemberInput[], jobs: Readonly<Record<string, string>>, isFirstCall: boolean): void {
    for (const { name, after, onFailure } of members) {
      const id = jobs[name]!;
      this.#members.set(name, {
        id,
        after: after as readonly string[] | "*",
        onFailure: onFailure!,
        isFirstCall,
        hasEnded: false,
        hasCompleted: false,
      });
    }
  }

  // ── What happens ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async chaos(): Promise<void> {
    const random = this.#random;
    const dice = random.int(1, 100);
    if (dice <= 45) return this.#work(random.int(1, 5), () => this.#anyOutcome());
    if (dice <= 75) return this.#deliverSome();
    if (dice <= 82) return this.#byHand((id) => this.#client.retry(id));
    if (dice <= 86) return this.#byHand((id) => this.#client.cancel(id));
    if (dice <= 89) return this.#add();
    if (dice <= 91) return this.#refusable(this.#client.flows.retry(this.#flow));
    if (dice <= 92) return this.#refusable(this.#client.flows.cancel(this.#flow));
    if (dice <= 95) return this.#byHand((id) => this.#client.remove(id), random.chance(0.5) ? "dead" : "cancelled");
    this.#world.clock.advance(20_000);
    await this.#world.store.promote(100);
  }

  #anyOutcome(): Outcome {
    const dice = this.#random.int(1, 10);
    if (dice <= 6) return { kind: "completed", result: '"ok"', runMs: 1 };
    if (dice <= 8) return { kind: "discard", error: BOOM, runMs: 1 };
    return dice === 9 ? { kind: "failed", error: BOOM, runMs: 1 } : { kind: "release" };
  }

  async #work(limit: number, outcomeOf: () => Outcome): Promise<void> {
    for (const lease of await this.#world.claim({ queues: QUEUES, limit, turn: 0 })) {
      this.#expectMayRun(lease);
      const settlement = settlementOf(lease, outcomeOf());
      const notice = noticeOf(lease, settlement.transition);
      expect((await this.#world.store.exchange([{ ...settlement, notice }], [])).settled).toEqual(["ok"]);
      this.#note(lease.parent!.step, settlement.transition.to);
    }
  }

  #note(name: string, status: Status): void {
    const seen = this.#members.get(name)!;
    if (isTerminal(status)) seen.hasEnded = true;
    if (status === "completed") seen.hasCompleted = true;
  }

  /** All that it waited for has ended: well, unless it runs in any case. */
  #expectMayRun({ parent }: LeasedRecord): void {
    const name = parent!.step;
    const { after, onFailure, isFirstCall, hasCompleted } = this.#members.get(name)!;
    expect(hasCompleted, `${name} had completed`).toBe(false);
    const all = [...this.#members].filter(([, one]) => one.after !== ALL_OTHERS && (one.isFirstCall || !isFirstCall)).map(([one]) => one);
    // A member that was added later may not be known to one that has opened.
    const before = after === ALL_OTHERS ? all.filter((one) => this.#members.get(one)!.isFirstCall) : after;
    for (const one of before) {
      const { hasEnded, hasCompleted: isGood } = this.#members.get(one)!;
      expect(onFailure === "run" ? hasEnded : isGood, `${name} ran, ${one} before it had ended`).toBe(true);
    }
  }

  async #byHand(change: (id: string) => Promise<unknown>, was?: Status): Promise<void> {
    const name = this.#random.pick([...this.#members.keys()]);
    const { id } = this.#members.get(name)!;
    const before = await this.#world.status(id);
    if (was !== undefined && before !== was) return;
    if (before !== null && isTerminal(before)) this.#note(name, before);
    await this.#refusable(change(id));
    const after = await this.#world.status(id);
    if (after !== null && isTerminal(after)) this.#note(name, after);
  }

  async #refusable(call: Promise<unknown>): Promise<void> {
    await call.catch((error: { code?: string }) => expect(["wrong_status", "not_found"]).toContain(error.code));
  }

  async #add(): Promise<void> {
    const there = [...this.#members].filter(([, { after }]) => after !== ALL_OTHERS).map(([name]) => name);
    const members = this.#graph(this.#random.int(1, 4), `added ${this.#members.size} `, there);
    await this.#refusable(this.#client.flows.add(this.#flow, members).then((jobs) => this.#remember(members, jobs, false)));
  }

  /** Delivers some notices, in any order. Sometimes the process dies before it drops them. */
  async #deliverSome(): Promise<void> {
    const random = this.#random;
    const stored = random.some(random.shuffled(await this.#world.store.notices(1_000)), random.pick([0.3, 0.7, 1]));
    const done = await this.#deliver(stored);
    await this.#noteEnds();
    if (random.chance(0.8)) await this.#world.store.dropNotices(done);
  }

  async #deliver(stored: readonly StoredNotice[]): Promise<string[]> {
    const done: string[] = [];
    // One after the other: in one call they would be put in order.
    for (const { key, notice } of stored) {
      if (notice.kind === "end") done.push(...(await tellFlows(this.#parts, [[key, notice.end]])));
      if (notice.kind === "flow") done.push(...(await workFlows(this.#parts, [[key, notice]])));
    }
    return done;
  }

  /** A flow cancels members, too. */
  async #noteEnds(): Promise<void> {
    const names = [...this.#members.keys()];
    const jobs = await this.#world.store.find(names.map((name) => this.#members.get(name)!.id));
    for (const [index, name] of names.entries()) if (jobs[index] !== null) this.#note(name, jobs[index]!.status);
  }

  // ── How it ends ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** All goes well from now on, until nothing more happens. */
  async calm(): Promise<void> {
    for (let quiet = 0, turns = 0; quiet < 2; turns++) {
      expect(turns, "turns").toBeLessThan(1_000);
      this.#world.clock.advance(20_000);
      await this.#world.store.promote(100);
      const stored = await this.#world.store.notices(1_000);
      await this.#world.store.dropNotices(await this.#deliver(stored));
      await this.#noteEnds();
      const { jobs } = await this.#world.store.list({ status: ["pending", "scheduled", "retrying"], limit: 1 });
      await this.#work(100, () => ({ kind: "completed", result: '"ok"', runMs: 1 }));
      quiet = stored.length === 0 && jobs.length === 0 ? quiet + 1 : 0;
    }
  }

  async expectSound(): Promise<void> {
    const flow = (await this.#client.flows.get(this.#flow))!;
    const members = await this.#allMembers();
    const count = (...statuses: readonly Status[]): number => members.filter(({ status }) => statuses.includes(status)).length;
    expect(flow).toMatchObject({
      members: this.#members.size,
      completed: count("completed"),
      failed: count("dead", "failed"),
      cancelled: count("cancelled"),
      open: members.filter(({ status }) => !isTerminal(status)).length,
    });
    expect(await this.#world.status(this.#flow)).toBe(jobStatusOf(flow.status));
    if (flow.status === "running") expect(flow.stuck.count, "it says what it waits for").toBeGreaterThan(0);
    expect(flow.stuck.count).toBe(members.filter((member) => this.#isStuck(member, members)).length);
    if (flow.status === "completed") expect(flow.completed).toBe(flow.members);
    expect(await this.#world.store.notices(10)).toEqual([]);
    expect(members.filter(({ name, status }) => this.#members.get(name)!.hasCompleted && status !== "completed")).toEqual([]);
  }

  #isStuck({ status, after, onFailure }: FlowMember, members: readonly FlowMember[]): boolean {
    if (status !== "blocked" || onFailure !== "wait") return false;
    const before = members.filter((one) => (after === "*" ? one.after !== "*" : after.includes(one.name)));
    return before.every((one) => isTerminal(one.status)) && before.some((one) => one.status !== "completed");
  }

  async #allMembers(): Promise<FlowMember[]> {
    const members: FlowMember[] = [];
    for (let cursor: string | null = null; ;) {
      const page: Awaited<ReturnType<Client["flows"]["members"]>> = await this.#client.flows.members(this.#flow, { limit: 7, cursor });
      members.push(...page.members);
      cursor = page.cursor;
      if (cursor === null) return members;
    }
  }

  /** Somebody clears up: every member that can complete then does. */
  async putRight(): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      const flow = (await this.#client.flows.get(this.#flow))!;
      if (flow.status === "completed") return;
      await this.#refusable(this.#client.flows.retry(this.#flow));
      for (const { jobId, status } of await this.#allMembers()) {
        if (status === "cancelled" || status === "dead") await this.#refusable(this.#client.retry(jobId));
      }
      await this.calm();
    }
  }

  async expectCompletedUnlessRemoved(): Promise<void> {
    const members = await this.#allMembers();
    const jobs = await this.#world.store.find(members.map(({ jobId }) => jobId));
    // Who removes the job of a member that was cancelled by hand takes away what could be retried.
    if (jobs.every((job) => job !== null)) expect((await this.#client.flows.get(this.#flow))!.status).toBe("completed");
  }
}

/** Random flows. A failure names its seed: MILLRACE_TEST_SEED repeats it, and MILLRACE_TEST_RUNS sets the number of runs. */
export function flowRunsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  for (let run = 0; run < RUNS; run++) {
    const seed = `${SEED}/${run}`;
    describe(`a flow in a random run, seed ${SEED}, ${run}`, () => {
      keeps("runs members after what they wait for, none twice that completed, and ends or says what it waits for", async (world) => {
        const random = new Random(seed).fork("flow");
        const flow = new FlowRun(world, openClient(world), random);
        await flow.start();
        for (let step = random.int(10, 60); step > 0; step--) await flow.chaos();
        await flow.calm();
        await flow.expectSound();
        await flow.putRight();
        await flow.expectSound();
        await flow.expectCompletedUnlessRemoved();
        expect((await world.counts(FLOW_QUEUE)).blocked ?? 0).toBeLessThanOrEqual(1);
      });
    });
  }
}
