import fc from "fast-check";
import { expect } from "vitest";
import type { Facets } from "../../../src/core/facets.ts";
import { type JobRecord, type NewJob, type Status, STATUSES, TERMINAL } from "../../../src/core/job.ts";
import { CANCEL, type Move, OPEN, type Outcome, RESTART, RETRY, RUN_NOW } from "../../../src/core/lifecycle.ts";
import type { Claim, LeasedRecord, Settlement } from "../../../src/store/store.ts";
import { BOOM, claimOf, type Held, settlementOf, type Wishes, type World } from "../world.ts";
import { comparable, same } from "./compare.ts";
import type { ChangeKind, Report } from "./reference.ts";
import { limitCommands, said } from "./limit-commands.ts";
import type { Said } from "./limit-rules.ts";
import { scheduleCommands } from "./schedule-commands.ts";
import { current, someLease, which } from "./some-lease.ts";
import { command, type Command, pickFrom } from "./step.ts";
import { CALLED, callOf, stepCommands, wait } from "./step-commands.ts";
import { endNotice } from "./step-rules.ts";
import { happened, LIMIT_KEYS, type Model } from "./state.ts";

const QUEUES = ["a", "b", "c", "a~webhooks"];
const TYPES = ["t0", "t1", "t2"];

// ── Jobs come in ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const FACETS = fc.constantFrom<Facets | null>(null, null, { c: "x" }, { c: "x", d: "1" }, { c: "y", d: "1" });

const ofAnyJob = {
  priority: fc.constantFrom(-10, 0, 0, 1, 10, 20),
  delay: fc.constantFrom(0, 0, 0, 0, 1_000, 5_000, 60_000),
  maxRetries: fc.constantFrom(0, 1, 2, 3),
  maxLost: fc.constantFrom(undefined, undefined, 0, 1, 2),
  retryDelay: fc.constantFrom(0, 1_000, 40_000),
  backoff: fc.constantFrom(undefined, undefined, "fixed", "slowly"),
  tags: fc.subarray(["red", "blue"]),
  facets: FACETS,
  blocked: fc.constantFrom(false, false, false, false, true),
  limitKey: fc.constantFrom(undefined, ...LIMIT_KEYS),
  cost: fc.constantFrom(1, 1, 1, 3),
};

const common = {
  queue: fc.constantFrom(...QUEUES),
  ...ofAnyJob,
  /** Some job that called it, mostly in its first life. */
  calledBy: fc.option(fc.record({ pick: fc.nat(), life: fc.constantFrom(1, 1, 1, 2, 40) }), { freq: 5, nil: undefined }),
};

const wishes = fc.oneof(
  fc.record({ ...common, type: fc.constantFrom(...TYPES), payload: fc.constantFrom(1, "\u0000") }),
  fc.record({
    ...common,
    type: fc.constant(TYPES[0]!),
    // Mostly the same job again, at times another under the same key.
    payload: fc.constantFrom(1, 1, 1, 1, 2),
    idempotencyKey: fc.constantFrom("k1", "k2"),
    keyTtl: fc.constantFrom(0, 2_000, 86_400_000, 86_400_000),
  }),
);

/** Many of a few lines, so that limits and turns have something to decide. */
const line = fc.record({
  queue: fc.constant("a"),
  type: fc.constant("t0"),
  limitKey: fc.constantFrom(undefined, "x", "x", "y"),
  cost: fc.constantFrom(1, 1, 3),
  delay: fc.constantFrom(0, 0, 0, 0, 1_000),
  blocked: fc.constant(false),
  facets: fc.constant(null),
});

const insert = command("insert", fc.array(wishes, { minLength: 1, maxLength: 5 }), insertAll);
const insertLine = command("insert a line", fc.array(line, { minLength: 3, maxLength: 8 }), insertAll);

type JobWish = Wishes & {
  readonly blocked: boolean;
  readonly facets: Facets | null;
  readonly calledBy?: { readonly pick: number; readonly life: number } | undefined;
};

async function insertAll(list: readonly JobWish[], model: Model, world: World): Promise<void> {
  const callers = [...model.reference.known];
  const jobs = list.map(({ blocked, facets, calledBy, ...wish }) => {
    const id = calledBy === undefined ? undefined : pickFrom(callers, calledBy.pick);
    const parent = id === undefined ? null : { id, step: CALLED.name, life: calledBy!.life };
    return { ...world.job(wish), blocked, facets, parent };
  });
  const answers = await world.store.insert(jobs);
  jobs.forEach((job, index) => {
    const expected = model.reference.insert(job);
    happened(
      `insert ${job.blocked ? "blocked " : ""}${expected.kind}${expected.kind === "full" && expected.limitKey !== undefined ? " key" : ""}`,
    );
    const answer = answers[index]!;
    same(answer.kind === "known" ? { ...answer, job: comparable(answer.job) } : answer, expected, `answer to insert ${job.id}`);
    model.inserted.push(job);
  });
}

const insertAgain = command("insert again", fc.nat(), async (pick, model, world) => {
  const job = pickFrom(model.inserted, pick);
  if (job === undefined) return;
  const [answer] = await world.store.insert([job]);
  const expected = model.reference.insert(job);
  happened(`insert again ${expected.kind}`);
  // Of a job that went on since, only its kind and its birth are the first answer's.
  if (expected.kind === "created") same(pickFields(answer!), pickFields(expected), "the answer to a repeated insert");
  else same(answer!.kind, expected.kind, "the answer to a repeated insert");
});

function pickFields(answer: object): object {
  const { kind, createdAt } = answer as { kind: string; createdAt?: number };
  return { kind, createdAt };
}

// ── Jobs are worked ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const claimWishes = fc.record({
  workerId: fc.constantFrom("w1", "w2"),
  queues: fc.oneof(fc.shuffledSubarray(QUEUES, { minLength: 1 }), fc.constant(["a"])),
  types: fc.oneof({ weight: 3, arbitrary: fc.constant("*" as const) }, { weight: 1, arbitrary: fc.shuffledSubarray(TYPES) }),
  limit: fc.constantFrom(0, 1, 2, 3, 5, 8),
  leaseMs: fc.constantFrom(1_000, 10_000, 30_000),
});

function expectClaim(model: Model, claim: Claim, leases: readonly LeasedRecord[], againInMs: number | null): void {
  const ids = leases.map(({ id }) => id);
  const { leases: expected, wrong, nextInMs } = model.reference.claim(claim, ids);
  expect(wrong, `the choice of the claim: ${ids.join(", ")}`).toBeNull();
  happened(expected.length > 0 ? "claim some" : "claim none");
  // It may be asked once more at the time of the first of two limits.
  if (nextInMs !== null) {
    happened("claim waits for time");
    expect(againInMs, `when the next may start: in ${nextInMs} ms at the latest`).toSatisfy(
      (ms) => ms !== null && ms > 0 && ms <= nextInMs,
    );
  }
  leases.forEach((lease, index) => same(comparable(lease), comparable(expected[index]!), `lease of ${lease.id}`));
  model.leases.push(...leases);
}

const claim = command("claim", claimWishes, async (wish, model, world) => {
  const claim = claimOf(wish);
  const { claimed, againInMs } = await world.store.exchange([], [claim]);
  expectClaim(model, claim, claimed[0]!, againInMs?.[0] ?? null);
});

const runMs = fc.constantFrom(0, 3, 250, 9_999.5);
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({ kind: fc.constant("completed" as const), result: fc.constantFrom(null, "1"), runMs }),
  fc.record({ kind: fc.constant("failed" as const), error: fc.constant(BOOM), delayMs: fc.constantFrom(undefined, 0, 700), runMs }),
  fc.record({ kind: fc.constant("discard" as const), error: fc.constant(BOOM), runMs }),
  fc.record({ kind: fc.constant("snooze" as const), delayMs: fc.constantFrom(0, 3_000) }),
  fc.record({ kind: fc.constant("hold" as const), delayMs: fc.constant(1_000) }),
  fc.constant({ kind: "release" as const }),
  fc.constant({ kind: "lost" as const }),
);

/** The core decides for the store; the reference is told only what the core was told, and how long the delay is. */
function decide(
  held: Held & Pick<JobRecord, "parent">,
  outcome: Outcome,
  ifExpired: boolean,
  told: Said = {},
  calls: readonly NewJob[] = [],
): { settlement: Settlement; report: Report } {
  const said = outcome.kind === "hold" ? { holdMs: outcome.delayMs, ...told } : told;
  const waits = outcome.kind === "suspend" ? outcome.waits : [];
  const decided = settlementOf(held, outcome, ifExpired);
  const { delayMs, to } = decided.transition;
  const value = outcome.kind === "completed" ? outcome.result : '{"name":"Error"}';
  const notice = TERMINAL.includes(to) ? (endNotice(held, to === "completed" ? "done" : "failed", value) ?? undefined) : undefined;
  const settlement = { ...decided, ...said, waits, calls, notice };
  return { settlement, report: { outcome, delayMs: delayMs ?? 0, deadLetters: held.deadLetters, ifExpired, said, notice, calls } };
}

async function settleAll(model: Model, world: World, decided: readonly { settlement: Settlement; report: Report }[]): Promise<void> {
  const { settled } = await world.store.exchange(
    decided.map(({ settlement }) => settlement),
    [],
  );
  expectSettled(model, decided, settled);
}

function expectSettled(model: Model, decided: readonly { settlement: Settlement; report: Report }[], settled: readonly string[]): void {
  const expected = decided.map(({ settlement: { id, fence }, report }) => model.reference.settle(id, fence, report));
  decided.forEach(({ report }, index) => happened(`settle ${report.outcome.kind} ${expected[index]!}`));
  same(settled, expected, "the answers to the settlements");
  // A forged fence may be granted later, and then its facts would be wrong: it is not sent again.
  const granted = ({ settlement: { id, fence } }: { settlement: Settlement }): boolean =>
    model.leases.some((lease) => lease.id === id && lease.fence === fence);
  model.sent.push(...decided.filter(granted));
}

const settle = command(
  "settle",
  fc.array(fc.record({ which, pick: fc.nat(), outcome, ifExpired: fc.constantFrom(false, false, false, true), said }), {
    minLength: 1,
    maxLength: 4,
  }),
  async (list, model, world) => {
    const decided = list.flatMap(({ which, pick, outcome, ifExpired, said }) => {
      const lease = someLease(model, which, pick);
      return lease === undefined ? [] : [decide(lease, outcome, ifExpired, said)];
    });
    await settleAll(model, world, decided);
  },
);

/** What a busy worker does: reports what it finished and claims anew, in one call. (Whether what it gave back is claimed by it again is open.) */
const exchange = command(
  "exchange",
  fc.record({
    picks: fc.array(fc.nat(), { maxLength: 3 }),
    outcome: outcome.filter(({ kind }) => kind !== "release" && kind !== "hold"),
    claimWishes,
  }),
  async ({ picks, outcome, claimWishes }, model, world) => {
    const holding = current(model);
    const decided = [...new Set(picks.map((pick) => pickFrom(holding, pick)))].flatMap((lease) =>
      lease === undefined ? [] : [decide(lease, outcome, false)],
    );
    const claim = claimOf(claimWishes);
    const { settled, claimed, againInMs } = await world.store.exchange(
      decided.map(({ settlement }) => settlement),
      [claim],
    );
    expectSettled(model, decided, settled);
    expectClaim(model, claim, claimed[0]!, againInMs?.[0] ?? null);
  },
);

/** What a handler waits for: at times a job that it calls, again if it did before. */
const suspend = command(
  "suspend",
  fc.record({
    which,
    pick: fc.nat(),
    waits: fc.uniqueArray(wait, { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
    calls: fc.constantFrom("none", "none", "new", "again", "again"),
    ifExpired: fc.constantFrom(false, false, false, true),
    said,
  }),
  async (input, model, world) => {
    const lease = someLease(model, input.which, input.pick);
    if (lease === undefined) return;
    const child = input.calls === "none" ? undefined : (calledAgain(model, lease, input) ?? callOf(world, model, lease, CALLED.name));
    const waits = child === undefined ? input.waits : [...input.waits.filter(({ name }) => name !== CALLED.name), CALLED];
    const calls = child === undefined ? [] : [child];
    const notices = model.reference.notices.length;
    await settleAll(model, world, [decide(lease, { kind: "suspend", waits, calls: [] }, input.ifExpired, input.said, calls)]);
    happened(`suspended job is ${model.reference.jobs.get(lease.id)?.record.status ?? "gone"}`);
    if (model.reference.notices.length > notices) happened("suspend calls an ended job");
    if (child === undefined || !model.reference.jobs.has(child.id)) return;
    happened("suspend calls");
    model.inserted.push(child);
  },
);

/** A job of the same queue that has ended, if one is to be called again. */
function calledAgain({ inserted, reference }: Model, { queue }: LeasedRecord, input: { calls: string; pick: number }): NewJob | undefined {
  const ended = inserted.filter((job) => {
    const status = reference.jobs.get(job.id)?.record.status;
    return job.queue === queue && job.idempotencyKey === null && status !== undefined && TERMINAL.includes(status);
  });
  return input.calls === "again" ? pickFrom(ended, input.pick) : undefined;
}

const repeat = command("repeat a settlement", fc.nat(), async (pick, model, world) => {
  const earlier = pickFrom(model.sent, pick);
  if (earlier === undefined) return;
  const { id, fence } = earlier.settlement;
  const { settled } = await world.store.exchange([earlier.settlement], []);
  const expected = model.reference.settle(id, fence, earlier.report);
  happened(`repeat ${expected}`);
  same(settled, [expected], "the answer to a repeated settlement");
});

const extend = command(
  "extend",
  fc.record({ which, pick: fc.nat(), leaseMs: fc.constantFrom(1_000, 30_000) }),
  async (input, model, world) => {
    const lease = someLease(model, input.which, input.pick);
    if (lease === undefined) return;
    const expected = model.reference.extend(lease.id, lease.fence, input.leaseMs);
    happened(`extend ${expected}`);
    same(await world.extend(lease, input.leaseMs), expected, "the answer to extend");
  },
);

const progress = fc.constantFrom(null, { percent: 50, note: null }, { percent: 99.5, note: "nearly" });

const note = command(
  "note",
  fc.record({ which, pick: fc.nat(), progress, lines: fc.constantFrom([], ["one"], ["two", "three"]) }),
  async (input, model, world) => {
    const lease = someLease(model, input.which, input.pick);
    if (lease === undefined) return;
    const { id, fence } = lease;
    const expected = model.reference.note(id, fence, input.progress, input.lines);
    happened(`note ${expected}`);
    same(await world.store.note([{ id, fence, progress: input.progress, lines: input.lines }]), [expected], "the answer to note");
  },
);

// ── Jobs are managed ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const OPEN_LATER: Move = { ...OPEN, transition: { ...OPEN.transition, to: "scheduled", delayMs: 1_000 } };
const MOVES = { cancel: CANCEL, retry: RETRY, edit: RETRY, restart: RESTART, "run now": RUN_NOW, open: OPEN, "open later": OPEN_LATER };

/** Ids of any job, and once more of those that a move is for. */
function likely(model: Model, kind: ChangeKind | "remove"): string[] {
  const wanted = {
    cancel: ["running"],
    retry: ["dead", "failed", "cancelled"],
    edit: ["dead", "failed", "cancelled"],
    restart: ["dead", "failed", "cancelled"],
    "run now": ["scheduled", "retrying"],
    open: ["blocked"],
    "open later": ["blocked"],
    remove: ["completed", "dead"],
  }[kind];
  const fitting = [...model.reference.jobs.values()].filter(({ record }) => wanted.includes(record.status)).map(({ record }) => record.id);
  return [...model.reference.known, ...fitting, ...fitting, ...fitting];
}

const ACTIONS = {
  cancel: "cancelled",
  retry: "retried",
  edit: "edited",
  restart: "retried",
  "run now": "started",
  open: null,
  "open later": null,
} as const;
/** Who does it by hand, and why; sometimes it is not done by hand. */
const actor = fc.constantFrom(null, { by: null, reason: null }, { by: "ann", reason: 'line 1\nline 2 \u0000 \ud800 "' });

function change(kind: ChangeKind): Command {
  const input = fc.record({
    picks: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
    actor,
    text: fc.constantFrom("1", "2", '"\\u0000"'),
    facets: FACETS,
  });
  return command(kind, input, async ({ picks, actor, text, facets }, model, world) => {
    const ids = picks.map((pick) => pickFrom(likely(model, kind), pick) ?? world.newId());
    const action = ACTIONS[kind];
    const manual = action === null || actor === null ? undefined : { action, ...actor };
    const edit = kind === "edit" ? { payload: text, facets } : undefined;
    const answers = await world.store.change(ids, { ...MOVES[kind], edit }, manual);
    ids.forEach((id, index) => {
      const expected = model.reference.change(id, kind, manual, edit);
      happened(`${kind} ${expected.kind}`);
      expect(answers[index], `the answer to ${kind} ${id}`).toMatchObject(expected);
    });
  });
}

/** Puts a job in place of another, mostly of one that was never claimed. No job with a key is replaced. One at a time: new jobs of one call come in no order. */
const replace = command(
  "replace",
  fc.record({ pick: fc.nat(), job: fc.record({ ...ofAnyJob, payload: fc.constantFrom(1, "\u0000") }) }),
  async ({ pick, job: { blocked, facets, ...wish } }, { reference }, world) => {
    const keyless = [...reference.jobs.values()].map(({ record }) => record).filter(({ idempotencyKey }) => idempotencyKey === null);
    const fresh = keyless.filter(({ status, fence }) => fence === 0 && ["scheduled", "pending", "blocked"].includes(status));
    const was = pickFrom([...keyless, ...fresh, ...fresh, ...fresh], pick);
    const { id = world.newId(), queue, type, status, limitKey } = { ...was };
    const job = { ...world.job({ ...wish, queue, type }), id, blocked, facets };
    const expected = reference.replace(job);
    happened(`replace ${expected}`);
    if (expected === "ok") happened(`replace ${status}${limitKey === null ? "" : " of a limit key"}`);
    same(await world.store.replace([job]), [expected], "the answer to replace");
  },
);

const remove = command("remove", fc.nat(), async (pick, model, world) => {
  const id = pickFrom(likely(model, "remove"), pick);
  if (id === undefined) return;
  const expected = model.reference.remove(id);
  happened(`remove ${expected.kind}`);
  expect(await world.remove(id), `the answer to remove ${id}`).toMatchObject(expected);
});

/** Mostly absent: with many filters at once, a list finds nothing. */
function seldom<Value>(...values: Value[]): fc.Arbitrary<Value | undefined> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...values) });
}

const query = fc.record({
  status: fc.oneof(
    fc.option(fc.subarray([...STATUSES]), { nil: undefined }),
    fc.constantFrom<Status[]>(["pending"], ["scheduled", "retrying"], ["completed", "cancelled"], ["dead"], ["retrying"]),
  ),
  type: seldom(...TYPES),
  queue: seldom(...QUEUES),
  internal: fc.constantFrom(undefined, true),
  priority: seldom({ min: 0, max: 10 }, { min: 1, max: 1 }),
  tag: seldom("red", "blue"),
  limitKey: seldom(...LIMIT_KEYS),
  facets: seldom<Facets>({ c: "x" }, { c: "x", d: "1" }, { d: "1" }, { c: "z" }),
  q: seldom("RED", "K1", "t1", "boom", "cancelled while", "u0000", "2"),
  back: seldom(1_000, 60_000),
  endedBack: seldom(1_000, 60_000),
  sort: fc.constantFrom(undefined, "created" as const, "state" as const, "state" as const),
});

const list = command("list", fc.record({ query, limit: fc.integer({ min: 1, max: 7 }) }), async (input, model, world) => {
  const { back, endedBack, ...filter } = input.query;
  const ago = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : model.reference.now - ms);
  const wanted = { ...filter, from: ago(back), endedFrom: ago(endedBack) };
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await world.store.list({ ...wanted, limit: input.limit, cursor: cursor ?? undefined });
    found.push(...page.jobs.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== null && found.length <= model.reference.jobs.size);
  happened(found.length > 0 ? "list some" : "list none");
  if (found.some((id) => model.reference.jobs.get(id)?.record.queue.includes("~"))) happened("list internal");
  same(found, model.reference.list(wanted), "the list");
});

// ── Time and upkeep ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const STEPS_MS = [100, 1_000, 1_000, 5_000, 30_000, 60_000, 3_600_000];

const advance = command("advance", fc.constantFrom(...STEPS_MS), async (ms, model, world) => {
  world.clock.advance(ms);
  model.reference.now += ms;
});

const promote = command("promote", fc.constant(null), async (_, model, world) => {
  const blocked = [...model.reference.jobs.values()].filter(({ record }) => record.status === "blocked");
  const expected = model.reference.promote();
  if (blocked.some(({ record }) => record.status === "pending")) happened("promote a suspended job");
  happened(expected.moved > 0 ? "promote some" : "promote none");
  const { jobs = [], ...answer } = await world.store.promote(1_000, true);
  const byId = (one: { id: string }, other: { id: string }): number => (one.id < other.id ? -1 : 1);
  same({ ...answer, jobs: jobs.toSorted(byId) }, { ...expected, jobs: expected.jobs.toSorted(byId) }, "the answer to promote");
});

/** Looks for expired leases as upkeep does and reclaims them, twice: the second reaper must learn that it was too late. */
const reclaim = command("reclaim", fc.constant(null), async (_, model, world) => {
  const expected = model.reference.expired();
  const { jobs, nextInMs } = await world.expired(1_000);
  same(jobs.map(({ id }) => id).sort(), expected.ids.sort(), "the expired leases");
  same(nextInMs, expected.nextInMs, "the time until the next lease runs out");
  const ends = jobs.map(({ id }) => model.reference.jobs.get(id)!.leaseUntil);
  same(
    ends,
    [...ends].sort((a, b) => a - b),
    "the order of the expired leases",
  );
  happened(jobs.length > 0 ? "reclaim some" : "reclaim none");
  for (let reaper = 0; reaper < 2; reaper++) {
    await settleAll(
      model,
      world,
      jobs.map((job) => decide(job, { kind: "lost" }, true)),
    );
  }
});

// Jobs end at whole tenths of a second, so that no rule falls on the very moment of an end.
const rule = fc.record({
  ageMs: fc.constantFrom(50, 50, 10_050, 10 ** 12),
  count: fc.integer({ min: 0, max: 4 }),
  keepAtLeastMs: fc.constantFrom(1, 1, 2_050),
});

const prune = command(
  "prune",
  fc.record({ rule, queues: fc.shuffledSubarray(QUEUES, { minLength: 1 }), limit: fc.integer({ min: 1, max: 6 }) }),
  async (input, model, world) => {
    const rules = input.queues.map((queue) => ({ queue, ...input.rule }));
    const before = [...model.reference.jobs.keys()];
    const { removed } = await world.store.prune(rules, input.limit);
    const found = await world.store.find(before);
    const gone = before.filter((_, index) => found[index] === null);
    same(removed, gone.length, "how many were pruned");
    expect(model.reference.prune(rules, input.limit, gone)).toBeNull();
    happened(removed > 0 ? "prune some" : "prune none");
  },
);

const sweep = command("sweep", fc.integer({ min: 1, max: 100 }), async (limit, _model, world) => {
  await world.store.sweep({ minutesMs: 2 * 3_600_000, hoursMs: 48 * 3_600_000 }, limit);
});

// ── Queues ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const settings = fc.record(
  {
    paused: fc.constantFrom(false, false, true),
    capacity: fc.constantFrom(null, null, 2, 8),
    deadLetters: fc.boolean(),
    headStartMs: fc.constantFrom(0, 1_000, 60_000, 2 ** 43),
  },
  { requiredKeys: [] },
);

const configure = command(
  "configure",
  fc.record({ queue: fc.constantFrom(...QUEUES), settings }),
  async ({ queue, settings }, model, world) => {
    await world.store.configure(queue, settings);
    await world.rerank(queue, 3);
    model.reference.configure(queue, settings);
  },
);

const reopen = command("reopen", fc.constant(null), async (_, _model, world) => {
  if (world.engine.forgets === undefined) await world.restart();
});

/** How often each is drawn: much work, some upkeep, now and then somebody who meddles. */
const WEIGHTS: readonly (readonly [times: number, command: Command])[] = [
  [4, insert],
  [2, insertLine],
  [1, insertAgain],
  [3, claim],
  [3, settle],
  [2, exchange],
  [3, suspend],
  [1, repeat],
  [1, extend],
  [1, note],
  [3, advance],
  [2, promote],
  [1, reclaim],
  [2, change("cancel")],
  [2, change("retry")],
  [1, change("edit")],
  [1, change("restart")],
  [1, change("run now")],
  [2, change("open")],
  [1, change("open later")],
  [2, replace],
  [2, remove],
  [4, prune],
  [1, sweep],
  [1, configure],
  [2, list],
  [1, reopen],
];

export const commands: Command[] = WEIGHTS.flatMap(([times, command]) => Array<Command>(times).fill(command)).concat(
  limitCommands,
  scheduleCommands,
  stepCommands,
);
