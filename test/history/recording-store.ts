import { MillraceError } from "../../src/core/errors.ts";
import { readMember } from "../../src/core/flow.ts";
import type { Move } from "../../src/core/lifecycle.ts";
import type { ScheduleSpec } from "../../src/core/schedule-record.ts";
import type { NewStep, StepEnd, StepRecord } from "../../src/core/steps.ts";
import type {
  ChangeAnswer,
  Claim,
  FlowChange,
  FlowChangeAnswer,
  InsertAnswer,
  Lease,
  LeaseAnswer,
  LeasedRecord,
  Settlement,
  StepEndAnswer,
  StepsPage,
  Store,
  Tick,
  TransactionVerbs,
} from "../../src/store/store.ts";
import type { Answered, Asked, Granted, Phase, ToldStep, Verb } from "./line.ts";
import { printOf } from "./print.ts";
import type { Begun, Recorder } from "./recorder.ts";
import { sentMemberOf, sentOf } from "./sent-job.ts";

/** The same store, whose every call that can change something is written down by this process. What only looks is not. */
export function recordingStore(inner: Store, recorder: Recorder): Store {
  const recorded: Partial<Store> = {
    insert: (jobs) => {
      const asked = jobs.map(sentOf);
      return recordAll(recorder, "insert", asked, saidOfInsert, () => inner.insert(jobs));
    },
    exchange: (settlements, claims) => recordExchange(inner, recorder, settlements, claims),
    extend: (leases) => {
      const asked = leases.map((lease) => ({ ...askedOfLease(lease), leaseMs: lease.leaseMs }));
      return recordAll(recorder, "extend", asked, saidOfLease, () => inner.extend(leases));
    },
    note: (notes) => recordAll(recorder, "note", notes.map(askedOfLease), saidOfLease, () => inner.note(notes)),
    keepSteps: (keeps) => {
      const asked = keeps.map((keep) => ({ ...askedOfLease(keep), steps: keep.steps.map(toldOfNew) }));
      return recordAll(recorder, "keep-steps", asked, saidOfKeep, () => inner.keepSteps(keeps));
    },
    // Who has no lease only looks.
    readSteps: (id, fence, after) =>
      fence === null
        ? inner.readSteps(id, fence, after)
        : recordOne(
            recorder,
            "read-steps",
            { job: id, fence },
            (page) => saidOfRead(page, after),
            () => inner.readSteps(id, fence, after),
          ),
    endSteps: (ends) => recordAll(recorder, "end-step", ends.map(askedOfEnd), saidOfEnd, () => inner.endSteps(ends)),
    change: (ids, move, manual) => {
      const verb = verbOf(move);
      const change = (): Promise<ChangeAnswer[]> => inner.change(ids, move, manual);
      if (verb === "set-flow") {
        const asked = ids.map((job) => ({ job, to: move.transition.to }));
        return recordAll(recorder, verb, asked, saidOfChange, change);
      }
      const asked = ids.map((job) => ({ job, ...forgottenBy(move) }));
      return recordAll(recorder, verb, asked, saidOfChange, change);
    },
    changeFlows: (changes) => recordAdded(inner, recorder, changes),
    remove: (ids, from) => {
      const asked = ids.map((job) => ({ job, from }));
      return recordAll(recorder, "remove", asked, saidOfChange, () => inner.remove(ids, from));
    },
    prune: (rules, limit) =>
      recordOne(
        recorder,
        "prune",
        { rules },
        ({ removed }) => ["ok", { removed }],
        () => inner.prune(rules, limit),
      ),
    configure: (queue, change) =>
      recordOne(
        recorder,
        "configure",
        { queue, change },
        () => ["ok", {}],
        () => inner.configure(queue, change),
      ),
    setKeyLimits: (queue, key, limits) =>
      recordOne(
        recorder,
        "limit-key",
        { queue, key, limits },
        () => ["ok", {}],
        () => inner.setKeyLimits(queue, key, limits),
      ),
    putSchedule: (spec, nextTick, expected) => {
      const asked = askedOfSchedule(spec, nextTick);
      return recordOne(recorder, "put-schedule", asked, saidOfPut, () => inner.putSchedule(spec, nextTick, expected));
    },
    removeSchedule: (schedule) => {
      return recordOne(recorder, "remove-schedule", { schedule }, saidOfUnput, () => inner.removeSchedule(schedule));
    },
    tick: (ticks) => recordTicks(inner, recorder, ticks),
    within: (tx) => recordWithin(inner.within(tx), recorder),
  };
  return new Proxy(inner, {
    get(target, name) {
      const own = recorded[name as keyof Store];
      if (own !== undefined) return own;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

// ── How a call is written down ───────────────────────────────────────────────────────────────────────────────────────────────────────

type Said<V extends Verb> = readonly [Phase, Answered[V]];

async function recordAll<V extends Verb, Answer>(
  recorder: Recorder,
  verb: V,
  asked: readonly Asked[V][],
  said: (answer: Answer) => Said<V>,
  call: () => Promise<Answer[]>,
): Promise<Answer[]> {
  const begun = asked.map((ask) => recorder.begin(verb, ask));
  const answers = await orUnknown(begun, call);
  begun.forEach((each, index) => each.end(...said(answers[index]!)));
  return answers;
}

async function recordOne<V extends Verb, Answer>(
  recorder: Recorder,
  verb: V,
  ask: Asked[V],
  said: (answer: Answer) => Said<V>,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const begun = recorder.begin(verb, ask);
  const answer = await orUnknown([begun], call);
  begun.end(...said(answer));
  return answer;
}

/** Settlements and claims of one call are calls of their own here: each has its own answer. */
async function recordExchange(
  inner: Store,
  recorder: Recorder,
  settlements: readonly Settlement[],
  claims: readonly Claim[],
): ReturnType<Store["exchange"]> {
  const settling = settlements.map((settlement) => recorder.begin("settle", askedOfSettlement(settlement)));
  const afterCalls = settlements.some(({ calls = [] }) => calls.length > 0) ? ({ isAfterCalls: true } as const) : {};
  const claiming = claims.map((claim) => recorder.begin("claim", { ...askedOfClaim(claim), ...afterCalls }));
  const begun: Begun<Verb>[] = [...settling, ...claiming];
  const answer = await orUnknown(begun, () => inner.exchange(settlements, claims));
  settling.forEach((each, index) => each.end(...saidOfSettlement(settlements[index]!, answer.settled[index]!)));
  claiming.forEach((each, index) => each.end("ok", { granted: answer.claimed[index]!.map(grantedOf) }));
  return answer;
}

async function recordTicks(inner: Store, recorder: Recorder, ticks: readonly Tick[]): ReturnType<Store["tick"]> {
  const begun = ticks.map((tick) => recorder.begin("tick", askedOfTick(tick)));
  const answers = await orUnknown(begun, () => inner.tick(ticks));
  begun.forEach((each, index) => each.end(...saidOfTick(ticks[index]!, answers[index]!)));
  return answers;
}

/** Of changes of flows only members that are added are written down: all else that a flow decides is seen in its jobs, and in the dump. */
async function recordAdded(inner: Store, recorder: Recorder, changes: readonly FlowChange[]): Promise<FlowChangeAnswer[]> {
  const adding = changes.filter(({ added }) => added.length > 0);
  const begun = adding.map(({ id, added }) =>
    recorder.begin("add-members", { job: id, added: added.map((text) => sentMemberOf(id, readMember(text))) }),
  );
  const answers = await orUnknown(begun, () => inner.changeFlows(changes));
  const answerTo = new Map(changes.map((change, index) => [change, answers[index]!]));
  // Stale: somebody was faster, or this is the repeat of a change that was applied.
  for (const [index, change] of adding.entries()) {
    const answer = answerTo.get(change)!;
    begun[index]!.end(answer === "ok" ? "ok" : answer === "missing" ? "fail" : "unknown", {});
  }
  return answers;
}

/** What is done in a transaction of the caller's own takes effect with its commit, of which nobody here hears. */
function recordWithin(verbs: TransactionVerbs | null, recorder: Recorder): TransactionVerbs | null {
  if (verbs === null) return null;
  const unsure = <V extends Verb>([phase, answer]: Said<V>): Said<V> => [phase === "ok" ? "unknown" : phase, answer];
  return {
    insert: (jobs) =>
      recordAll(
        recorder,
        "insert",
        jobs.map(sentOf),
        (answer: InsertAnswer) => unsure<"insert">(saidOfInsert(answer)),
        () => verbs.insert(jobs),
      ),
    settle: (settlements) =>
      recordAll(
        recorder,
        "settle",
        settlements.map(askedOfSettlement),
        (answer: LeaseAnswer) => unsure<"settle">(saidOfLease(answer)),
        () => verbs.settle(settlements),
      ),
    note: (notes) =>
      recordAll(
        recorder,
        "note",
        notes.map(askedOfLease),
        (answer: LeaseAnswer) => unsure<"note">(saidOfLease(answer)),
        () => verbs.note(notes),
      ),
  };
}

/** A store that is closed did not even try; of any other error nobody knows what it left behind. */
async function orUnknown<V extends Verb, Answer>(begun: readonly Begun<V>[], call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    const phase = error instanceof MillraceError && error.code === "closed" ? "fail" : "unknown";
    for (const each of begun) each.end(phase, {});
    throw error;
  }
}

// ── What is asked ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function askedOfLease({ id, fence }: Lease): { job: string; fence: number } {
  return { job: id, fence };
}

function askedOfClaim({ workerId: worker, queues, types, limit, leaseMs, turn, again }: Claim): Asked["claim"] {
  return { worker, queues, types, limit, leaseMs, turn, again };
}

function askedOfSettlement(settlement: Settlement): Asked["settle"] {
  const { id, fence, outcome, transition, ifExpired, holdMs, followUp, waits, calls } = settlement;
  const { to, delayMs, result, error } = transition;
  return {
    job: id,
    fence,
    outcome,
    to,
    delayMs,
    result: printOfText(result ?? null),
    error: printOfError(error ?? null),
    ifExpired,
    ...(holdMs === undefined ? {} : { holdMs }),
    made: followUp === null || followUp === undefined ? null : sentOf(followUp),
    ...(waits === undefined ? {} : { waits: waits.map(({ name: step, kind, untilMs }) => ({ step, kind, untilMs })) }),
    ...(calls === undefined || calls.length === 0 ? {} : { calls: calls.map(sentOf) }),
  };
}

function toldOfNew({ name: step, kind, state, value }: NewStep): ToldStep {
  return { step, kind, state, value: printOfText(value) };
}

function askedOfEnd({ id: job, name: step, kind, state, value, by }: StepEnd): Asked["end-step"] {
  return { job, step, kind, state, value: printOfText(value), by };
}

function forgottenBy({ steps }: Move): { forgets?: "all" | "failed" } {
  return steps === undefined ? {} : { forgets: steps === "forget" ? "all" : "failed" };
}

function askedOfTick({ name, version, tick, job }: Tick): Asked["tick"] {
  return { schedule: name, version, tick, made: job === null ? null : sentOf(job) };
}

function askedOfSchedule({ name, timing, catchUp, overlap, paused }: ScheduleSpec, nextTick: number | null): Asked["put-schedule"] {
  return { schedule: name, timing, catchUp, overlap, paused, nextTick };
}

function verbOf({ from, transition: { to, retries, bumpFence } }: Move): "cancel" | "retry" | "run-now" | "open" | "set-flow" {
  if (retries === "reset") return "retry";
  if (bumpFence) return "cancel";
  if (to !== "pending" && to !== "scheduled") return "set-flow";
  return from.includes("blocked") ? "open" : "run-now";
}

// ── What is answered ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//
// An engine that lost an answer asks again by itself. Where the repeat then finds the work done and says that somebody was faster, it may
// have been itself: such an answer is unknown here.

function saidOfInsert(answer: InsertAnswer): Said<"insert"> {
  switch (answer.kind) {
    case "created":
      return ["ok", answer];
    case "known":
      return ["fail", { kind: "known", holder: answer.job.id }];
    case "pruned":
    case "conflict":
      return ["fail", { kind: answer.kind, holder: answer.id }];
    case "full":
      return ["fail", { kind: "full" }];
    case "locked":
      return ["unknown", {}];
  }
}

function saidOfLease(answer: LeaseAnswer): readonly [Phase, { answer: LeaseAnswer }] {
  // Held up by another's transaction: it is asked again.
  if (answer === "locked") return ["unknown", { answer }];
  return [answer === "ok" ? "ok" : "fail", { answer }];
}

function saidOfKeep(answer: LeaseAnswer | "full"): Said<"keep-steps"> {
  return answer === "full" ? ["fail", { answer }] : saidOfLease(answer);
}

function saidOfRead(page: StepsPage | null, after: string | null): Said<"read-steps"> {
  if (page === null) return ["fail", {}];
  return ["ok", { life: page.life, steps: page.steps.map(toldOfStored), isWhole: after === null && page.cursor === null }];
}

function saidOfEnd(answer: StepEndAnswer): Said<"end-step"> {
  switch (answer.kind) {
    case "ok":
      return ["ok", { kind: "ok", woke: answer.woke }];
    case "late":
      return ["fail", { kind: "late", state: answer.state }];
    case "full":
    case "refused":
    case "missing":
      return ["fail", { kind: answer.kind }];
    case "locked":
      return ["unknown", { kind: "locked" }];
  }
}

function saidOfSettlement({ ifExpired }: Settlement, answer: LeaseAnswer): Said<"settle"> {
  return ifExpired && answer === "stale" ? ["unknown", { answer }] : saidOfLease(answer);
}

function saidOfTick({ job }: Tick, answer: "ticked" | "stale" | "full"): Said<"tick"> {
  if (answer !== "stale") return ["ok", { answer }];
  return [job === null ? "unknown" : "fail", { answer }];
}

function saidOfPut(done: boolean): Said<"put-schedule"> {
  return [done ? "ok" : "unknown", {}];
}

function saidOfUnput(done: boolean): Said<"remove-schedule"> {
  return [done ? "ok" : "fail", {}];
}

function saidOfChange(answer: ChangeAnswer): Said<"cancel"> {
  switch (answer.kind) {
    case "ok":
      return ["ok", { was: answer.was }];
    case "refused":
      return ["fail", { status: answer.status }];
    case "missing":
      return ["fail", { status: "missing" }];
    case "locked":
      return ["unknown", {}];
  }
}

function grantedOf({ id: job, queue, fence, attempt, retryCount, lostCount, runAt, startedAt, leaseUntil }: LeasedRecord): Granted {
  return { job, queue, fence, attempt, retryCount, lostCount, runAt, startedAt: startedAt!, leaseUntil };
}

/** A step as it is stored. */
export function toldOfStored({ name: step, kind, state, value, by, until }: StepRecord): ToldStep {
  return { step, kind, state, value: printOfText(value), by, until };
}

/** Of a stored result. */
export function printOfText(text: string | null): string | null {
  return text === null ? null : printOf(text);
}

/** Of a stored error, by what makes it one: lists leave the stack out. */
export function printOfError(error: { readonly name: string; readonly message: string; readonly kind: string } | null): string | null {
  return error === null ? null : printOf(`${error.kind} ${error.name}: ${error.message}`);
}
