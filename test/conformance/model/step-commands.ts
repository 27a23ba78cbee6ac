import fc from "fast-check";
import type { NewJob } from "../../../src/core/job.ts";
import { CALLERS, type NewStep, STEP_KINDS, type StepEnd } from "../../../src/core/steps.ts";
import type { Lease, LeasedRecord } from "../../../src/store/store.ts";
import type { World } from "../world.ts";
import { pageOf, same, textOf } from "./compare.ts";
import { current, someLease, which } from "./some-lease.ts";
import { happened, type Model } from "./state.ts";
import { command, type Command, pickFrom } from "./step.ts";

/** Each kind has its names. Those of signals are in another order by UTF-16 than by UTF-8. */
const SLEEPS = ["s", "s:2"];
const SIGNALS = ["w", "\u{FFFD}", "\u{1F600} /"];
const RESULTS = ["r", "R", "r 2"];

const value = fc.constantFrom(null, "1", '"\\u0000 日本"', '{"n":12345678901234567890}');

const sleep: fc.Arbitrary<NewStep> = fc
  .record({ name: fc.constantFrom(...SLEEPS), untilMs: fc.constantFrom(0, 100, 1_000, 60_000) })
  .map((given) => ({ ...given, kind: "sleep", state: "open", value: null, detail: null }));

const signalled: fc.Arbitrary<NewStep> = fc
  .record({ name: fc.constantFrom(...SIGNALS), untilMs: fc.constantFrom(null, null, 100, 5_000), detail: fc.constantFrom(null, "{}") })
  .map((given) => ({ ...given, kind: "wait", state: "open", value: null }));

export const CALLED: NewStep = { name: "c", kind: "call", state: "open", value: null, untilMs: null, detail: null };

/** What a handler may wait for. */
export const wait: fc.Arbitrary<NewStep> = fc.oneof(sleep, sleep, signalled, signalled, fc.constant(CALLED));

const result: fc.Arbitrary<NewStep> = fc
  .record({ name: fc.constantFrom(...RESULTS), value, detail: fc.constantFrom(null, '{"runMs":3}') })
  .map((given) => ({ ...given, kind: "step", state: "done", untilMs: null }));

/** A job that a step of this one calls. */
export function callOf(world: World, { reference }: Model, { id, queue }: Lease & Pick<LeasedRecord, "queue">, step: string): NewJob {
  const life = reference.jobs.get(id)?.steps.life ?? 1;
  return { ...world.job({ queue, type: "t0", payload: 1, maxRetries: 0 }), parent: { id, step, life } };
}

const keep = command(
  "keep steps",
  fc.record({
    which,
    pick: fc.nat(),
    steps: fc.uniqueArray(fc.oneof(result, result, wait), { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
  }),
  async (input, model, world) => {
    const lease = someLease(model, input.which, input.pick);
    if (lease === undefined) return;
    const { id, fence } = lease;
    const expected = model.reference.keepSteps(id, fence, input.steps);
    happened(`keep steps ${expected}`);
    same(await world.store.keepSteps([{ id, fence, steps: input.steps }]), [expected], "the answer to keep steps");
    if (expected === "ok") forgetDecisions(model, lease);
  },
);

/** What was decided of a lease and refused is not sent again: its retries and losses are others now, so that it would be decided otherwise. */
function forgetDecisions({ sent }: Model, { id, fence }: Lease): void {
  const others = sent.filter(({ settlement }) => settlement.id !== id || settlement.fence !== fence);
  sent.splice(0, sent.length, ...others);
}

const read = command("read steps", fc.record({ which, pick: fc.nat(), resumed: fc.boolean() }), async (input, model, world) => {
  const resumed = current(model).filter(({ id }) => openOf(model, id) > 0);
  const lease = (input.resumed ? pickFrom(resumed, input.pick) : undefined) ?? someLease(model, input.which, input.pick);
  if (lease === undefined) return;
  const open = openOf(model, lease.id);
  const expected = model.reference.readSteps(lease.id, lease.fence);
  happened(`read steps ${expected === null ? "null" : expected.steps.length === 0 ? "none" : "some"}`);
  if (openOf(model, lease.id) < open) happened("read steps overdue");
  same(pageOf(await world.store.readSteps(lease.id, lease.fence, null)), expected, `steps of ${lease.id}, read by its holder`);
});

function openOf(model: Model, id: string): number {
  return (
    model.reference.jobs
      .get(id)
      ?.steps.page()
      .steps.filter(({ state }) => state === "open").length ?? 0
  );
}

const end = fc.record({
  pick: fc.nat(),
  name: fc.constantFrom(...SIGNALS, ...SIGNALS, CALLED.name, ...SLEEPS, ...RESULTS),
  /** That of the step, or whatever it is. */
  kind: fc.constantFrom(null, null, null, ...STEP_KINDS),
  state: fc.constantFrom("done" as const, "done" as const, "failed" as const, "timeout" as const),
  value,
  by: fc.constantFrom("1", "2", "3"),
  /** How many lives before or after that of the job; null: any. */
  livesOff: fc.constantFrom(null, 0, 0, 0, -1, 1),
  /** Mostly a step that somebody waits for. */
  awaited: fc.constantFrom(true, true, false),
  from: fc.constantFrom<StepEnd["from"]>(CALLERS, CALLERS, CALLERS, ["running"], ["blocked", "scheduled", "pending"]),
});

/** Ids of any job, and some that wait. */
function likely({ reference }: Model): string[] {
  const waiting = [...reference.jobs.values()]
    .filter(({ record }) => record.status === "blocked" || record.hasSteps)
    .map(({ record }) => record.id);
  return [...reference.known, ...waiting, ...waiting, ...waiting];
}

/** The open steps of all jobs. */
function openSteps({ reference }: Model): { id: string; name: string }[] {
  return [...reference.jobs.values()].flatMap(({ record: { id }, steps }) =>
    steps
      .page()
      .steps.filter(({ state }) => state === "open")
      .map(({ name }) => ({ id, name })),
  );
}

const endSome = command("end steps", fc.array(end, { minLength: 1, maxLength: 4 }), async (list, model, world) => {
  const [ids, open] = [likely(model), openSteps(model)];
  const ends = list.map(({ pick, awaited, livesOff, ...some }) => {
    const { id, name } = (awaited ? pickFrom(open, pick) : undefined) ?? { id: pickFrom(ids, pick) ?? world.newId(), name: some.name };
    const { life = 1, steps = [] } = model.reference.jobs.get(id)?.steps.page() ?? {};
    const kind = some.kind ?? steps.find((step) => step.name === name)?.kind ?? "wait";
    return { ...some, id, name, kind, life: livesOff === null ? null : life + livesOff };
  });
  await endAll(ends, model, world);
});

async function endAll(ends: readonly StepEnd[], { reference }: Model, world: World): Promise<void> {
  const expected = ends.map((one) => {
    const missed = reference.jobs.get(one.id)?.steps.misses(one) ?? null;
    const answer = reference.endStep(one);
    const how = answer.kind === "ok" && answer.woke ? "woke" : answer.kind;
    happened(`end step ${how}${missed === null ? "" : ` of another ${missed}`}`);
    return answer;
  });
  same(await world.store.endSteps(ends), expected, "the answers to end steps");
}

/** Delivers some notices and drops them, as upkeep does. */
const deliver = command("deliver notices", fc.integer({ min: 1, max: 12 }), async (limit, model, world) => {
  const { notices } = model.reference;
  const stored = await world.store.notices(limit);
  same(stored.length, Math.min(limit, notices.length), "how many notices were given");
  for (const { notice } of stored) {
    const place = notices.findIndex((expected) => textOf(expected) === textOf(notice));
    same(place === -1 ? textOf(notice) : null, null, "a notice that nobody left");
    notices.splice(place, 1);
    happened(`deliver ${notice.kind}`);
    if (notice.kind === "end") await endAll([notice.end], model, world);
    if (notice.kind === "insert")
      same(await world.store.insert([notice.job]), [model.reference.insert(notice.job)], "the answer to a call");
  }
  await world.store.dropNotices(stored.map(({ key }) => key));
});

export const stepCommands: Command[] = [keep, keep, read, read, endSome, endSome, deliver, deliver];
