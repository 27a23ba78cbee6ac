import type { Event } from "../core/event.ts";
import { CANCEL } from "../core/lifecycle.ts";
import { isTerminal, type JobRecord, type NewJob } from "../core/job.ts";
import { isFlowParent, isKeyParent } from "../core/flow-parent.ts";
import { partitionOf } from "../core/partition.ts";
import {
  callEnded,
  callEnder,
  type CallError,
  detailOf,
  endingOf,
  endNotice,
  type FlowNotice,
  type Notice,
  type StepEnd,
} from "../core/steps.ts";
import { tellFlows, workFlows } from "../flows/deliver.ts";
import { tellKeys } from "../flows/tell-keys.ts";
import { atMost } from "../lib/clock.ts";
import { inBatches } from "../lib/slices.ts";
import { type InsertAnswer, MAX_BATCH, type Store, type StoredNotice } from "../store/store.ts";
import { type Duty, type DutyParts, letOthersRun } from "./duty.ts";

const BATCH = 500;
/** A delivery that takes longer goes on, and others do not wait for it. */
const PATIENCE_MS = 1000;

/**
 * Delivers what jobs tell each other (see Notice in core/steps.ts). Any number of processes may deliver one notice, and a process may die
 * before it drops one: each delivery changes nothing the second time.
 *
 * On a Cluster the node of a receiver may be away. Deliveries that fail are reported once the others are done.
 */
export function deliverDuty(parts: DutyParts): Duty {
  const { store, clock, restsMs, isStopping } = parts;
  /** Those whose delivery takes long, by key. */
  const slow = new Map<string, Notice>();
  /** Why some failed, until the turn is over. */
  const troubles: unknown[] = [];

  /** Drops those that were delivered, and returns their keys. */
  async function tell(some: readonly StoredNotice[]): Promise<string[]> {
    try {
      const delivered = await deliver(parts, some);
      if (delivered.length > 0) await store.dropNotices(delivered);
      return delivered;
    } catch (error) {
      // One of these flows has members where nobody answers: the others do not wait for it.
      if (some.length > 1 && isOfFlow(some[0]!.notice)) return (await Promise.all(some.map((one) => tell([one])))).flat();
      troubles.push(error);
      return [];
    }
  }

  async function tellUnlessSlow(some: readonly StoredNotice[]): Promise<string[]> {
    const telling = tell(some);
    const delivered = await atMost(clock, PATIENCE_MS, telling);
    if (delivered !== null) return delivered;
    for (const { key, notice } of some) slow.set(key, notice);
    void telling.then(() => some.forEach(({ key }) => slow.delete(key)));
    return [];
  }

  /** How long to rest. */
  function end(): number {
    const [error] = troubles.splice(0);
    if (error !== undefined) throw error as Error;
    return restsMs.deliver;
  }

  return {
    wokenBy: ["notices"],
    async turn() {
      // They wait for another transaction or a node, until the next turn: those behind them do not.
      const left = new Map<string, Notice>();
      for (;;) {
        const notices = await store.notices(BATCH, [...left.keys(), ...slow.keys()]);
        if (notices.length === 0) return end();
        for (const { key, notice } of notices) left.set(key, notice);
        const cancels = notices.filter(({ notice }) => notice.kind === "cancel");
        const others = notices.filter(({ notice }) => notice.kind !== "cancel");
        const told = await Promise.all(apart(others).map((some) => tellUnlessSlow(some)));
        for (const key of told.flat()) left.delete(key);
        // A called job that is still to be inserted could not be cancelled.
        const inserting = new Set([...left.values(), ...slow.values()].map((notice) => notice.kind === "insert" && notice.job.parent?.id));
        const ready = cancels.filter(({ notice }) => notice.kind === "cancel" && !inserting.has(notice.id));
        for (const key of ready.length === 0 ? [] : await tellUnlessSlow(ready)) left.delete(key);
        if (isStopping()) return end();
        await letOthersRun();
      }
    },
  };
}

/**
 * What the store delivers in one call: ends of called jobs, what members tell their flows, the work of flows, and for each partition the jobs to
 * insert there. One that cannot be reached holds up its own only.
 */
function apart(notices: readonly StoredNotice[]): StoredNotice[][] {
  const groups = Map.groupBy(notices, ({ notice }) => {
    if (notice.kind === "insert") return partitionOf(notice.job.queue);
    return isOfFlow(notice) ? `flow ${notice.kind}` : notice.kind;
  });
  return [...groups.values()];
}

function isOfFlow(notice: Notice): boolean {
  return notice.kind === "flow" || (notice.kind === "end" && (isFlowParent(notice.end) || isKeyParent(notice.end)));
}

/** What a notice says, with the key that drops it. */
type Keyed<Told> = readonly [key: string, told: Told];

/** Returns the keys of those that were delivered. One that has to wait for another transaction is not. */
async function deliver(parts: DutyParts, notices: readonly StoredNotice[]): Promise<string[]> {
  const ends: Keyed<StepEnd>[] = [];
  const inserts: Keyed<NewJob>[] = [];
  const cancels: Keyed<string>[] = [];
  const endsOfMembers: Keyed<StepEnd>[] = [];
  const endsOfKeys: Keyed<StepEnd>[] = [];
  const flows: Keyed<FlowNotice>[] = [];
  for (const { key, notice } of notices) {
    if (notice.kind === "end" && isKeyParent(notice.end)) endsOfKeys.push([key, notice.end]);
    else if (notice.kind === "end") (isFlowParent(notice.end) ? endsOfMembers : ends).push([key, notice.end]);
    else if (notice.kind === "insert") inserts.push([key, notice.job]);
    else if (notice.kind === "flow") flows.push([key, notice]);
    else cancels.push([key, notice.id]);
  }
  return [
    ...(await tellNewEnds(parts, ends)),
    ...(await insertCalls(parts, inserts)),
    ...(await cancelCalls(parts, cancels)),
    ...(await tellFlows(parts, endsOfMembers)),
    ...(await workFlows(parts, flows)),
    ...(await tellKeys(parts, endsOfKeys)),
  ];
}

/** A failure counts only while the called job has it: one that was retried since ends again, and what forgot its failure waits for that. */
async function tellNewEnds(parts: DutyParts, ends: readonly Keyed<StepEnd>[]): Promise<string[]> {
  const failed = ends.filter(([, { state }]) => state === "failed");
  const children = failed.length === 0 ? [] : await parts.store.find(failed.map(([, { by }]) => callEnded(by)));
  const old = new Set(failed.filter((_, index) => isPast(children[index]!, failed[index]![1])));
  const told = await tellEnds(
    parts,
    ends.filter((end) => !old.has(end)),
  );
  return [...told, ...Array.from(old, ([key]) => key)];
}

function isPast(child: JobRecord | null, { by }: StepEnd): boolean {
  return child !== null && !(isTerminal(child.status) && callEnder(child.id, child.fence) === by);
}

async function tellEnds(parts: DutyParts, ends: readonly Keyed<StepEnd>[]): Promise<string[]> {
  if (ends.length === 0) return [];
  const { store, clock, announce } = parts;
  const answers = await store.endSteps(ends.map(([, end]) => end));
  const resumed: Event[] = [];
  const told: string[] = [];
  const tooLarge: Keyed<StepEnd>[] = [];
  for (const [index, answer] of answers.entries()) {
    const [key, end] = ends[index]!;
    if (answer.kind === "full") tooLarge.push([key, asTooLarge(end)]);
    else if (answer.kind !== "locked") told.push(key);
    if (answer.kind === "ok" && answer.woke) {
      resumed.push({ event: "job:resumed", at: clock.now(), jobId: end.id, type: answer.type, queue: answer.queue, step: end.name });
    }
  }
  if (resumed.length > 0 && announce.wanted()) announce.publish(resumed);
  // A failure always fits.
  return [...told, ...(await tellEnds(parts, tooLarge))];
}

/** A result for which the calling job has no room. */
function asTooLarge(end: StepEnd): StepEnd {
  const error: CallError = {
    name: "TooLarge",
    message: "the called job completed, but its result does not fit into the 8 MiB of steps that the calling job can keep",
    kind: "error",
    status: "completed",
  };
  return { ...end, state: "failed", value: JSON.stringify(error) };
}

/** One that was called again after it had ended: whoever called it is told the end that it had. */
async function insertCalls(parts: DutyParts, inserts: readonly Keyed<NewJob>[]): Promise<string[]> {
  if (inserts.length === 0) return [];
  const answers = await parts.store.insert(inserts.map(([, job]) => job));
  const ended = inserts.filter((_, index) => hasEnded(answers[index]!));
  const others = inserts.filter((_, index) => answers[index]!.kind !== "locked" && !hasEnded(answers[index]!));
  return [...others.map(([key]) => key), ...(await tellAgain(parts, ended))];
}

function hasEnded(answer: InsertAnswer): boolean {
  return answer.kind === "created" && isTerminal(answer.status);
}

async function tellAgain(parts: DutyParts, calls: readonly Keyed<NewJob>[]): Promise<string[]> {
  const found = calls.length === 0 ? [] : await parts.store.find(calls.map(([, { id }]) => id));
  const ends: Keyed<StepEnd>[] = [];
  const untold: string[] = [];
  for (const [index, record] of found.entries()) {
    const [key] = calls[index]!;
    const ending = record === null ? null : endingOf(record);
    // Somebody retried it meanwhile, so it tells its next end; or removed it.
    if (ending === null || record!.parent === null) untold.push(key);
    else ends.push([key, endNotice(record!.parent, record!.id, record!.fence, ending).end]);
  }
  return [...untold, ...(await tellEnds(parts, ends))];
}

/** A job that was retried since it was cancelled goes on with what it called. */
async function cancelCalls(parts: DutyParts, cancels: readonly Keyed<string>[]): Promise<string[]> {
  const callers = cancels.length === 0 ? [] : await parts.store.find(cancels.map(([, id]) => id));
  const done: string[] = [];
  for (const [index, [key, id]] of cancels.entries()) {
    if (callers[index]?.status !== "cancelled" || (await cancelOpenCalls(parts, id))) done.push(key);
  }
  return done;
}

/** Whether all that a job called have ended, or are being cancelled. */
async function cancelOpenCalls({ store, announce, clock }: DutyParts, id: string): Promise<boolean> {
  const manual = { action: "cancelled", by: null, reason: `job ${id}, which called it, was cancelled` } as const;
  const answers = await inBatches(await openCalls(store, id), MAX_BATCH, (some) =>
    store.change(some, { ...CANCEL, leavesHeld: true }, manual),
  );
  const cancelled = answers.flatMap((answer): Event[] => {
    if (answer.kind !== "ok") return [];
    const { id: jobId, type, queue } = answer.job;
    return [{ event: "job:cancelled", at: clock.now(), jobId, type, queue }];
  });
  if (cancelled.length > 0 && announce.wanted()) announce.publish(cancelled);
  return answers.every(({ kind }) => kind !== "locked");
}

/** The jobs that a job called and that have not told their end yet. */
async function openCalls(store: Store, id: string): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | null = null; ;) {
    const page = await store.readSteps(id, null, after);
    for (const step of page?.steps ?? []) {
      const { call } = detailOf(step);
      if (step.kind === "call" && step.state === "open" && call !== undefined) ids.push(call.id);
    }
    if (page === null || page.cursor === null) return ids;
    after = page.cursor;
  }
}
