/**
 * An engine obeys the transition that it is given. Engines apply one in several texts (a fast one for the usual end, one for many at once, one
 * for a caller's transaction, …): here every transition goes down every way, and each way must do the same.
 */
import { describe, expect, vi } from "vitest";
import { withGroup } from "../../../src/core/error-group.ts";
import { levelOf, type Status } from "../../../src/core/job.ts";
import type { Move, Transition } from "../../../src/core/lifecycle.ts";
import type { NewStep } from "../../../src/core/steps.ts";
import { partitionOf } from "../../../src/core/partition.ts";
import type { ChangeAnswer, Hint, LeaseAnswer, LeasedRecord, Settlement, Store } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, LEASE_MS, settlementOf, type World } from "../world.ts";
import { signalTo, stepsOf } from "./durable-work.ts";
import { countedBy, type Story, storyAfter } from "./transition-effects.ts";
import { type Case, CASES, ENDED, MOVES } from "./transition-table.ts";

/** A running job of a case. Each case has a queue to itself, where its figures are seen. */
interface Subject {
  readonly lease: LeasedRecord;
  readonly queue: string;
  readonly some: Case;
}

/** Queues of one partition: on Redis one script then takes jobs of all of them. */
const QUEUES = queuesOfOnePartition(CASES.length);

function queuesOfOnePartition(count: number): string[] {
  const names: string[] = [];
  for (let number = 0; names.length < count; number++) {
    if (partitionOf(`q${number}`) === partitionOf("q0")) names.push(`q${number}`);
  }
  return names;
}

/** Leaves something of everything in a job, so that what a transition should keep is seen when it does not. */
const PAST: Transition = {
  to: "retrying",
  bumpFence: false,
  giveBackAttempt: false,
  retries: "add",
  losses: "add",
  countSnooze: true,
  delayMs: 1,
  result: '"earlier"',
  error: withGroup({ ...BOOM, message: "earlier" }),
  errorOnlyIfRunning: false,
  endsAttempt: true,
  runMs: 3,
};

/** Of each case a job with a past and a new one, both running. */
async function subjects(world: World): Promise<Subject[]> {
  await world.store.insert(QUEUES.map((queue) => world.job({ queue, priority: -1, idempotencyKey: "old", maxRetries: 9 })));
  const first = await world.claim({ queues: QUEUES });
  await world.store.exchange(
    first.map(({ id, fence }) => ({ id, fence, outcome: "failed", transition: PAST, ifExpired: false })),
    [],
  );
  world.clock.advance(20);
  expect(await world.store.promote(1_000)).toMatchObject({ moved: CASES.length });
  await world.store.insert(QUEUES.map((queue) => world.job({ queue, priority: 12, idempotencyKey: "new", maxRetries: 9 })));
  world.clock.advance(30);
  const leases = await world.claim({ queues: QUEUES });
  expect(leases).toHaveLength(2 * CASES.length);
  await world.store.note(leases.map(({ id, fence }) => ({ id, fence, progress: { percent: 50, note: "half" }, lines: [] })));
  await world.store.endSteps(leases.filter(hasEnded).map(({ id }) => signalTo(id, ENDED)));
  world.clock.advance(700);
  return leases.map((lease) => ({ lease, queue: lease.queue, some: CASES[QUEUES.indexOf(lease.queue)]! }));
}

function hasEnded({ queue }: LeasedRecord): boolean {
  return CASES[QUEUES.indexOf(queue)]!.waits?.some(({ name }) => name === ENDED) === true;
}

function settlementFor({ lease: { id, fence }, some: { outcome, transition, waits } }: Subject): Settlement {
  return { id, fence, outcome, transition, ifExpired: false, waits };
}

function changeOf({ lease: { id }, some: { name, transition, waits, becomes = transition } }: Subject): Change {
  return { id, name, transition: becomes, waits };
}

/** What the waits of a settlement make of its transition. */
function resultOf({ transition, waits }: Settlement): Transition {
  return CASES.find((some) => some.waits !== undefined && some.waits === waits)?.becomes ?? transition;
}

// ── What there is, and what there should be ────────────────────────────────────────────────────────────────────────────────────────────

async function storiesOf({ store }: World, ids: readonly string[]): Promise<Story[]> {
  const jobs = await store.find(ids);
  return Promise.all(ids.map(async (id, index) => ({ job: jobs[index]!, attempts: await store.attempts(id) })));
}

const STEPS = ["all", "hour", "minute"] as const;

/** What was ever counted in these queues, by what it is counted for. */
async function figures({ store, clock }: World, queues: ReadonlySet<string>): Promise<Map<string, number>> {
  const period = { from: clock.now() - 3_600_000, to: clock.now() + 3_600_000 };
  const found = new Map<string, number>();
  const add = (queue: string, name: string, amount: number): void => {
    const cell = `${queue}: ${name}`;
    if (amount !== 0 && queues.has(queue)) found.set(cell, (found.get(cell) ?? 0) + amount);
  };
  for (const step of STEPS) {
    for (const { queue, counts, times } of (await store.counters({ step, ...period })).rows) {
      for (const [counter, amount] of Object.entries(counts)) add(queue, `${counter} by ${step}`, amount);
      for (const [kind, histogram] of Object.entries(times)) {
        for (const [bucket, amount] of histogram) add(queue, `${kind} ${bucket}`, amount);
      }
    }
  }
  for (const { name, counts } of await store.queues()) {
    for (const { status, level, count } of counts) add(name, `${status} ${level}`, count);
  }
  return found;
}

/** Adds to the figures what a transition of a job changes of them. */
function count(found: Map<string, number>, { job }: Story, transition: Transition): void {
  const add = (name: string, amount: number): void => {
    const sum = (found.get(`${job.queue}: ${name}`) ?? 0) + amount;
    if (sum === 0) found.delete(`${job.queue}: ${name}`);
    else found.set(`${job.queue}: ${name}`, sum);
  };
  add(`${job.status} ${levelOf(job.priority)}`, -1);
  add(`${transition.to} ${levelOf(job.priority)}`, 1);
  for (const name of countedBy(job, transition)) {
    if (/\d/.test(name)) add(name, 1);
    else for (const step of STEPS) add(`${name} by ${step}`, 1);
  }
}

/** A job that is to go through a transition. */
interface Change {
  readonly id: string;
  readonly name: string;
  readonly transition: Transition;
  /** They are steps then. */
  readonly waits?: readonly NewStep[] | undefined;
}

/** Does something by which each job goes through its transition once, and looks at all that came of it. */
async function expectTransitions(world: World, jobs: readonly Change[], act: () => Promise<void>): Promise<void> {
  const ids = jobs.map(({ id }) => id);
  const before = await storiesOf(world, ids);
  const queues = new Set(before.map(({ job }) => job.queue));
  const expected = await figures(world, queues);
  await act();
  const now = world.clock.now();
  const after = await storiesOf(world, ids);
  for (const [index, { id, name, transition, waits }] of jobs.entries()) {
    const { job, attempts } = storyAfter(before[index]!, transition, now);
    expect(after[index], `after ${name}`).toEqual({ job: { ...job, hasSteps: job.hasSteps || waits !== undefined }, attempts });
    count(expected, before[index]!, transition);
    if (waits !== undefined) expect((await stepsOf(world, id)).map((step) => step.name)).toEqual(waits.map((wait) => wait.name).toSorted());
  }
  expect(Object.fromEntries(await figures(world, queues))).toEqual(Object.fromEntries(expected));
}

/** Does something, and waits until all that a transition should ring there was heard. More may be: a hint only says where to look. */
async function expectRung(store: Store, expected: readonly Hint[], act: () => Promise<void>): Promise<void> {
  const heard: Hint[] = [];
  const stop = store.watch((hint) => heard.push(hint));
  await act();
  await vi.waitFor(() => expect(heard).toEqual(expect.arrayContaining([...expected])), 5_000);
  stop();
}

function ringsOf({ to, delayMs }: Transition, queue: string, endsLease: boolean): Hint[] {
  const rings: Hint[] = endsLease ? [{ topic: "lease" }] : [];
  if (to === "pending") rings.push({ topic: "work", queue });
  if (to === "blocked" && delayMs !== null) rings.push({ topic: "due", inMs: delayMs });
  if (to === "scheduled" || to === "retrying") rings.push({ topic: "due", inMs: delayMs ?? 0 });
  return rings;
}

// ── The ways ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

type Send = (settlements: readonly Settlement[]) => Promise<LeaseAnswer[]>;

interface Scene {
  readonly world: World;
  /** The same data, as another process sees it: the leases were not granted there. */
  readonly other: World;
  readonly settlements: readonly Settlement[];
}

interface Way {
  readonly name: string;
  readonly isFor?: (engine: Engine) => boolean;
  readonly settle: (scene: Scene) => Promise<readonly Settlement[]>;
}

const by =
  ({ store }: World): Send =>
  async (settlements) =>
    (await store.exchange(settlements, [])).settled;

/** Settles all of them so; tells what was sent. */
async function all(send: Send, settlements: readonly Settlement[]): Promise<readonly Settlement[]> {
  expect(await send(settlements)).toEqual(settlements.map(() => "ok"));
  return settlements;
}

async function oneByOne(world: World, settlements: readonly Settlement[]): Promise<readonly Settlement[]> {
  for (const settlement of settlements) {
    const { queue } = await world.find(settlement.id);
    const rings = ringsOf(resultOf(settlement), queue, settlement.transition.losses === "add");
    await expectRung(world.store, rings, async () => void (await all(by(world), [settlement])));
  }
  return settlements;
}

/** What another job's open transaction holds is left out; all others go on. */
async function beside(world: World, act: (held: LeasedRecord) => Promise<void>): Promise<void> {
  const held = await world.running({ queue: "held" });
  const { tx, commit } = await world.opened.begin!();
  await world.store.within(tx)!.settle([settlementOf(held, { kind: "completed", result: null, runMs: 1 })]);
  await act(held);
  await commit();
}

const WAYS: readonly Way[] = [
  { name: "alone, by the process that was granted the lease", settle: ({ world, settlements }) => oneByOne(world, settlements) },
  { name: "alone, by another process", settle: ({ other, settlements }) => oneByOne(other, settlements) },
  { name: "many in one call", settle: ({ world, settlements }) => all(by(world), settlements) },
  { name: "many in one call, by another process", settle: ({ other, settlements }) => all(by(other), settlements) },
  {
    name: "after the lease ran out",
    settle: ({ world, settlements }) => {
      world.clock.advance(LEASE_MS);
      return all(
        by(world),
        settlements.map((settlement) => ({ ...settlement, ifExpired: true })),
      );
    },
  },
  {
    name: "followed by a job",
    settle: async ({ world, settlements }) => {
      const followed = settlements.map((settlement) => ({ ...settlement, followUp: world.job({ queue: `${QUEUES[0]!}~webhooks` }) }));
      await all(by(world), followed);
      expect(await world.counts(`${QUEUES[0]!}~webhooks`)).toEqual({ pending: followed.length });
      return followed;
    },
  },
  {
    name: "in the caller's own transaction",
    isFor: ({ hasTransactions }) => hasTransactions === true,
    settle: async ({ world, settlements }) => {
      const { tx, commit } = await world.opened.begin!();
      await all((some) => world.store.within(tx)!.settle(some), settlements);
      await commit();
      return settlements;
    },
  },
  {
    name: "beside a job that somebody else's transaction holds",
    isFor: ({ holdsRows }) => holdsRows === true,
    settle: async ({ world, settlements }) => {
      await beside(world, async (held) => {
        const answers = await by(world)([...settlements, settlementOf(held, { kind: "release" })]);
        expect(answers).toEqual([...settlements.map(() => "ok"), "locked"]);
      });
      return settlements;
    },
  },
];

// ── Moves ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A job in this status, which ran before where that can be. */
async function jobIn(world: World, queue: string, status: Status): Promise<string> {
  if (status === "blocked") return (await world.block({ queue })).id;
  if (status === "scheduled") return (await world.add({ queue, delay: 90_000 })).id;
  if (status === "pending") return (await world.add({ queue })).id;
  const lease = await world.running({ queue, idempotencyKey: status, keyTtl: 90_000 });
  world.clock.advance(10);
  if (status === "retrying") await world.settle(lease, { kind: "failed", error: BOOM, delayMs: 90_000, runMs: 2 });
  if (status === "dead" || status === "failed") await world.discard({ ...lease, deadLetters: status === "dead" });
  if (status === "cancelled") await world.cancel(lease.id);
  if (status === "completed") await world.complete(lease, "1");
  return lease.id;
}

/** A job in each status that the move is for. Those that must not be pending when another is taken come last. */
async function movable(world: World, queue: string, { from }: Move): Promise<{ id: string; was: Status }[]> {
  const jobs: { id: string; was: Status }[] = [];
  for (const was of [...from].sort((a, b) => Number(a === "pending") - Number(b === "pending")))
    jobs.push({ id: await jobIn(world, queue, was), was });
  world.clock.advance(500);
  return jobs;
}

const MOVING: readonly { name: string; isFor?: Way["isFor"]; move: (world: World, ids: readonly string[], move: Move) => Promise<void> }[] =
  [
    {
      name: "each alone",
      move: async (world, ids, move) => {
        for (const id of ids) {
          const { status, queue } = await world.find(id);
          const rings = ringsOf(move.transition, queue, status === "running");
          await expectRung(world.store, rings, async () => expectMoved(await world.store.change([id], move), 1));
        }
      },
    },
    { name: "all in one call", move: async (world, ids, move) => expectMoved(await world.store.change(ids, move), ids.length) },
    {
      name: "beside a job that somebody else's transaction holds",
      isFor: ({ holdsRows }) => holdsRows === true,
      move: (world, ids, move) =>
        beside(world, async (held) => {
          const answers = await world.store.change([...ids, held.id], { ...move, from: [...move.from, "running"] });
          expectMoved(answers.slice(0, -1), ids.length);
          expect(answers.at(-1)).toEqual({ kind: "locked" });
        }),
    },
  ];

function expectMoved(answers: readonly ChangeAnswer[], count: number): void {
  expect(answers.map(({ kind }) => kind)).toEqual(Array.from({ length: count }, () => "ok"));
}

/** The leases are over: who reports the same again is told so, and nothing else is heard of them. */
async function expectOver(world: World, running: readonly Subject[], sent: readonly Settlement[]): Promise<void> {
  const refused = running.map(({ some }): LeaseAnswer => (some.transition.to === "cancelled" ? "cancelled" : "stale"));
  expect(await by(world)(sent)).toEqual(sent.map(({ ifExpired }, index) => (ifExpired ? refused[index] : "ok")));
  expect(await world.store.extend(running.map(({ lease: { id, fence } }) => ({ id, fence, leaseMs: 1_000 })))).toEqual(refused);
}

export function transitionsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);
  const fits = ({ isFor }: Pick<Way, "isFor">): boolean => isFor?.(engine) !== false;

  describe("every transition does what it says", () => {
    for (const way of WAYS.filter(fits)) {
      keeps(`settled ${way.name}`, async (world) => {
        const other = await world.elsewhere();
        const running = await subjects(world);
        await expectTransitions(world, running.map(changeOf), async () => {
          await expectOver(world, running, await way.settle({ world, other, settlements: running.map(settlementFor) }));
        });
      });
    }

    keeps("as a move of a running job", async (world) => {
      // Only a settlement can have waits.
      const running = (await subjects(world)).filter(({ some }) => some.waits === undefined);
      await expectTransitions(world, running.map(changeOf), async () => {
        for (const some of new Set(running.map((subject) => subject.some))) {
          const ids = running.filter((subject) => subject.some === some).map(({ lease }) => lease.id);
          expectMoved(await world.store.change(ids, { from: ["running"], transition: some.transition }), 2);
        }
        await expectOver(world, running, []);
      });
    });

    for (const way of MOVING.filter(fits)) {
      keeps(`moved ${way.name}`, async (world) => {
        for (const [index, [name, move]] of Object.entries(MOVES).entries()) {
          const jobs = await movable(world, QUEUES[index]!, move);
          const changes = jobs.map(({ id, was }) => ({ id, name: `${name} from ${was}`, transition: move.transition }));
          await expectTransitions(world, changes, () =>
            way.move(
              world,
              jobs.map(({ id }) => id),
              move,
            ),
          );
        }
      });
    }
  });
}
