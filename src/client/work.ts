/** THE CALLS OF WORKERS. The core decides what follows from an outcome, and the store applies it. */
import { expiry, isExpired } from "../core/deadline.ts";
import { deliveryOf } from "../core/delivery.ts";
import { createdEvent, type Event } from "../core/event.ts";
import { isStoreTrouble, MillraceError } from "../core/errors.ts";
import { type NewJob, toJob } from "../core/job.ts";
import { MAX_BATCH_WEIGHT } from "../core/json.ts";
import type { Settled } from "../core/lease.ts";
import { MIN_SNOOZE_MS, type Outcome, settle, startedAfter } from "../core/lifecycle.ts";
import { SCHEMAS_KEPT_MS } from "../core/payload-schema.ts";
import { QUEUE_DEFAULTS } from "../core/queue.ts";
import type { SignalLinks } from "../core/signal-links.ts";
import { nameWithoutRoom, noticeOf, type StepDetail } from "../core/steps.ts";
import { Batcher } from "../lib/batcher.ts";
import { inBatches } from "../lib/slices.ts";
import { type Hint, type LeasedRecord, MAX_BATCH, type Note, type Settlement, type Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import type { ClaimRequest, LeasedJob, LeaseFacts, LeaseNote, LeaseAnswer, Leases, Report } from "./client.ts";
import { callRefused, createCalls, lifeOf, readAllSteps, waitRefused } from "./calls.ts";
import { type Enqueuer, verbsWithin } from "./enqueue.ts";
import type { Gathering } from "./gathering.ts";
import { heldElsewhere } from "./refusals.ts";
import type { ServedQueues } from "./served-queues.ts";

export interface WorkParts extends ClientParts {
  readonly random: () => number;
  readonly servedQueues: ServedQueues;
  readonly enqueuer: Enqueuer;
  readonly gathering: Gathering;
  /** Makes links that send signals; null if the client does not know where its server is. */
  readonly signalLinks: SignalLinks | null;
}

export function createLeases(parts: WorkParts): Leases {
  const { store } = parts;
  const keeps = stepKeeper(parts);
  return {
    exchange: (reports, claim) => exchange(parts, reports, claim),
    settleWithin: (tx, report, notes) => settleWithin(parts, tx, report, notes),
    extend: (leases, leaseMs) =>
      inBatches(leases, MAX_BATCH, (batch) => store.extend(batch.map(({ id, fence }) => ({ id, fence, leaseMs })))),
    note: (notes) => inBatches(notes, MAX_BATCH, (batch) => note(parts, batch)),
    keepSteps: (keep) => keeps.add(keep),
    readSteps: ({ id, fence }) => readAllSteps(store, id, fence),
    signalUrl: async (id, name, ttlMs, payload) => linkTo(parts.signalLinks, id, name, ttlMs, payload),
    publishSchemas: (schemas) => store.putSchemas(schemas, SCHEMAS_KEPT_MS),
    register: (worker, ttlMs) => store.register(worker, ttlMs),
    unregister: (workerId) => store.unregister(workerId),
    watch: (listener) => watch(parts, listener),
  };
}

// ── Report and claim ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function exchange(parts: WorkParts, reports: readonly Report[], claim: ClaimRequest | null): ReturnType<Leases["exchange"]> {
  if (reports.length <= MAX_BATCH) return exchangeOnce(parts, reports, claim);
  // More reports than fit in one call: the first ones go ahead and the last ones go with the claim.
  const ahead = reports.length - MAX_BATCH;
  const early = await inBatches(reports.slice(0, ahead), MAX_BATCH, async (batch) => (await exchangeOnce(parts, batch, null)).results);
  const { results, ...claimed } = await exchangeOnce(parts, reports.slice(ahead), claim);
  return { results: [...early, ...results], ...claimed };
}

async function exchangeOnce(parts: WorkParts, reports: readonly Report[], claim: ClaimRequest | null): ReturnType<Leases["exchange"]> {
  const facts = await factsOf(parts.store, reports);
  const decided = decide(parts, reports, facts);
  // Nothing to wait for, as a rule: another turn of the microtask queue would cost every exchange.
  const settlements = decided instanceof Promise ? await decided : decided;
  const claims = claim === null ? [] : [{ ...claim, queues: await parts.servedQueues.expand(claim.queues), local: claim.remote !== true }];
  const answer = await parts.store.exchange(settlements, claims);
  const results = resultsOf(facts, answer.settled);
  const claimed = await endExpired(parts, answer.claimed[0] ?? []);
  if (settlements.length > 0) {
    announceHeld(parts, settlements, facts, answer.settled);
    if (parts.announcer.isSettledWanted()) parts.announcer.settled(settledOf(settlements, facts, answer.settled));
    announceCalled(parts, settlements, answer.settled);
  }
  if (claim?.ahead !== true) announceStarted(parts, claimed);
  return { results, jobs: claimed.map(toLeasedJob), againInMs: answer.againInMs?.[0] ?? null };
}

/** Ends the jobs that were claimed too late to start, and returns the others. */
async function endExpired(parts: WorkParts, claimed: readonly LeasedRecord[]): Promise<readonly LeasedRecord[]> {
  const late = claimed.filter(isExpired);
  if (late.length === 0) return claimed;
  const settlements = late.map((job): Settlement => {
    const transition = expiry(job);
    // The outcome only tells a repeat from another report.
    return {
      id: job.id,
      fence: job.fence,
      outcome: "discard",
      transition,
      ifExpired: false,
      unstarted: true,
      notice: noticeOf(job, transition),
    };
  });
  const { settled } = await parts.store.exchange(settlements, []);
  if (parts.announcer.isSettledWanted()) {
    const facts = late.map((job) => factsFrom(job, job.deadLetters));
    parts.announcer.settled(settledOf(settlements, facts, settled));
  }
  return claimed.filter((job) => !isExpired(job));
}

/** Lets the core decide what follows from each report whose job is known. A promise only if an attempt was suspended, which is rare. */
function decide(parts: WorkParts, reports: readonly Report[], facts: readonly (LeaseFacts | null)[]): Settlement[] | Promise<Settlement[]> {
  const settlements: (Settlement | Promise<Settlement>)[] = [];
  let isAnySuspended = false;
  reports.forEach((report, index) => {
    const job = facts[index];
    if (!job) return;
    const isSuspended = report.outcome.kind === "suspend";
    isAnySuspended ||= isSuspended;
    settlements.push(isSuspended ? suspension(parts, report, job) : settlementOf(parts, report, report.outcome, job));
  });
  return isAnySuspended ? Promise.all(settlements.map((settlement) => Promise.resolve(settlement))) : (settlements as Settlement[]);
}

function settlementOf(parts: WorkParts, report: Report, reported: Outcome, job: LeaseFacts): Settlement {
  const { id, fence, heldMs, unstarted, spend } = report;
  const outcome = heldOrSnoozed(reported, job);
  const holdMs = outcome.kind === "hold" ? Math.max(MIN_SNOOZE_MS, outcome.delayMs) : undefined;
  const transition = settle(job, outcome, job, parts.random());
  const followUp = job.webhookUrl === null ? null : deliveryOf({ ...job, id }, fence, transition.to);
  const settlement = { id, fence, outcome: outcome.kind, transition, ifExpired: false, heldMs, unstarted, holdMs, spend, followUp };
  return job.parent === null ? settlement : { ...settlement, notice: noticeOf({ id, fence, parent: job.parent }, transition) };
}

/** An attempt at open steps, with the jobs that it calls. If one of these is refused, or has no room, the attempt has failed. */
async function suspension(parts: WorkParts, report: Report, job: LeaseFacts): Promise<Settlement> {
  const { outcome, id } = report;
  if (outcome.kind !== "suspend") return settlementOf(parts, report, outcome, job);
  const { waits, calls: requests } = outcome;
  const { life, names } = await stepsSoFar(parts.store, id, outcome.life, job);
  const tooMany = nameWithoutRoom(
    names,
    waits.map(({ name }) => name),
  );
  if (tooMany !== undefined) return settlementOf(parts, report, { kind: "failed", error: waitRefused(tooMany, id), runMs: 0 }, job);
  let calls: NewJob[] = [];
  try {
    calls = await createCalls(parts.enqueuer, { id, life }, requests);
  } catch (error) {
    // The report is sent again: the handler is not to blame.
    if (isStoreTrouble(error)) throw error;
    return settlementOf(parts, report, { kind: "failed", error: callRefused(error), runMs: 0 }, job);
  }
  const called = new Map(calls.map((call) => [call.parent!.step, call]));
  const named = waits.map((wait) => (called.has(wait.name) ? { ...wait, detail: callDetail(called.get(wait.name)!) } : wait));
  return { ...settlementOf(parts, report, outcome, job), waits: named, calls };
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** Who asks the store keeps all reports of this exchange waiting. A worker that knows the life of the job has read its steps, and counts them. */
async function stepsSoFar(store: Store, id: string, life: number | undefined, { hasSteps }: LeaseFacts): ReturnType<typeof lifeOf> {
  if (life !== undefined) return { life, names: NO_NAMES };
  return hasSteps === false ? { life: 1, names: NO_NAMES } : lifeOf(store, id);
}

function callDetail({ id, type, queue }: NewJob): string {
  return JSON.stringify({ call: { id, type, queue } } satisfies StepDetail);
}

/** Without a limit key there is nothing to hold but the job itself. */
function heldOrSnoozed(outcome: Outcome, { limitKey }: LeaseFacts): Outcome {
  return outcome.kind === "hold" && limitKey === null ? { ...outcome, kind: "snooze" } : outcome;
}

/** The store's answer to each report; one whose job is unknown was not passed on and is `stale`. */
function resultsOf(facts: readonly (LeaseFacts | null)[], answers: LeaseAnswer[]): LeaseAnswer[] {
  if (answers.length === facts.length) return answers;
  let next = 0;
  return facts.map((known) => (known === null ? "stale" : answers[next++]!));
}

const knownOf = (facts: readonly (LeaseFacts | null)[]): LeaseFacts[] => facts.filter((job) => job !== null);

/** What was applied. */
function settledOf(settlements: readonly Settlement[], facts: readonly (LeaseFacts | null)[], answers: readonly LeaseAnswer[]): Settled[] {
  const known = knownOf(facts);
  return settlements.flatMap(({ id, transition, waits }, index) =>
    answers[index] === "ok" ? [{ ...known[index]!, id, transition, waits: waits?.map(({ name }) => name) }] : [],
  );
}

/** What the rules need to know, from the claim or from the store. Null if the job does not exist. */
async function factsOf(store: Store, reports: readonly Report[]): Promise<(LeaseFacts | null)[]> {
  const missing = reports.filter((report) => report.facts === undefined).map((report) => report.id);
  const found = missing.length === 0 ? null : await lookUp(store, missing);
  return reports.map((report) => report.facts ?? found?.get(report.id) ?? null);
}

async function lookUp(store: Store, ids: readonly string[]): Promise<Map<string, LeaseFacts>> {
  const [records, queues] = await Promise.all([store.find(ids), store.queues()]);
  const deadLetters = new Map(queues.map((queue) => [queue.name, queue.settings.deadLetters]));
  const found = new Map<string, LeaseFacts>();
  for (const record of records) {
    if (record === null) continue;
    const facts = factsFrom(record, deadLetters.get(record.queue) ?? QUEUE_DEFAULTS.deadLetters);
    found.set(record.id, { ...facts, hasSteps: record.hasSteps });
  }
  return found;
}

function factsFrom(record: Omit<LeaseFacts, "deadLetters">, deadLetters: boolean): LeaseFacts {
  const { type, queue, retryCount, maxRetries, lostCount, maxLost, retryDelayMs, backoff, snoozes, webhookUrl, limitKey } = record;
  const { attempt, workerId, startedAt, parent } = record;
  return {
    type,
    queue,
    retryCount,
    maxRetries,
    lostCount,
    maxLost,
    retryDelayMs,
    backoff,
    snoozes,
    webhookUrl,
    limitKey,
    deadLetters,
    parent,
    attempt,
    workerId,
    startedAt,
  };
}

function toLeasedJob(record: LeasedRecord): LeasedJob {
  const { fence, leaseUntil, deadLetters } = record;
  return { job: toJob(record), fence, leaseUntil, facts: factsFrom(record, deadLetters), texts: record };
}

function announceStarted({ announcer, clock }: WorkParts, claimed: readonly LeasedRecord[]): void {
  if (claimed.length === 0 || !announcer.wanted()) return;
  announcer.publish(claimed.map((job) => startedEvent(job.id, job, clock.now())));
}

/** Tells of jobs that were claimed ahead when their handlers were called. */
function announceHeld(
  { announcer, clock }: WorkParts,
  settlements: readonly Settlement[],
  facts: readonly (LeaseFacts | null)[],
  answers: readonly LeaseAnswer[],
): void {
  if (!announcer.wanted()) return;
  const known = knownOf(facts);
  const events = settlements.flatMap(({ id, heldMs }, index): Event[] => {
    if (heldMs === undefined || answers[index] !== "ok") return [];
    const { startedAt, ...job } = known[index]!;
    const now = clock.now();
    return [startedEvent(id, { ...job, startedAt: startedAt === null ? null : startedAfter(startedAt, heldMs, now) }, now)];
  });
  if (events.length > 0) announcer.publish(events);
}

/** Tells of the jobs that suspended attempts called. */
function announceCalled({ announcer, clock }: WorkParts, settlements: readonly Settlement[], answers: readonly LeaseAnswer[]): void {
  const called = settlements.flatMap(({ calls = [] }, index) => (answers[index] === "ok" ? calls : []));
  if (called.length === 0 || !announcer.wanted()) return;
  announcer.publish(called.map((job) => createdEvent(job, clock.now())));
}

type StartedJob = Pick<LeaseFacts, "type" | "queue" | "attempt" | "workerId" | "startedAt">;

function startedEvent(jobId: string, { type, queue, attempt, workerId, startedAt }: StartedJob, now: number): Event {
  return { event: "job:started", at: startedAt ?? now, jobId, type, queue, workerId: workerId ?? "", attempt };
}

/** No events: it holds only if the caller commits. Callers that wait for the job find out by polling. */
async function settleWithin(
  parts: WorkParts,
  tx: unknown,
  report: Report,
  notes: readonly LeaseNote[] = [],
): ReturnType<Leases["settleWithin"]> {
  const verbs = verbsWithin(parts.store, tx);
  const settlements = await decide(parts, [report], await factsOf(parts.store, [report]));
  if (settlements.length === 0) return "stale";
  // If the lease is gone, the settlement says so.
  if (notes.length > 0) await verbs.note(notes.map(asStored));
  const [answer] = await verbs.settle(settlements);
  if (answer === "locked") throw heldElsewhere(`job ${report.id}`);
  return answer!;
}

// ── Notes ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function note({ store, clock, announcer }: WorkParts, notes: readonly LeaseNote[]): Promise<LeaseAnswer[]> {
  const results = await store.note(notes.map(asStored));
  if (announcer.wanted()) {
    announcer.publish(
      notes.flatMap(({ id: jobId, type, queue, progress }, index): Event[] => {
        return progress === null || results[index] !== "ok"
          ? []
          : [{ event: "job:progress", at: clock.now(), jobId, type, queue, progress }];
      }),
    );
  }
  return results;
}

function asStored({ id, fence, progress, lines }: LeaseNote): Note {
  return { id, fence, progress, lines };
}

// ── Steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

type Keep = Parameters<Leases["keepSteps"]>[0];

/** Steps of many attempts are stored together. One whose job is locked by another transaction is tried again alone, so that only it waits. */
function stepKeeper({ store, gathering }: WorkParts): Batcher<Keep, LeaseAnswer | "full"> {
  const keepAlone = async (keep: Keep): Promise<LeaseAnswer | "full"> => (await store.keepSteps([keep]))[0]!;
  return new Batcher<Keep, LeaseAnswer | "full">({
    ...gathering,
    weigh: ({ steps }) => steps.reduce((sum, { value, detail }) => sum + (value?.length ?? 0) + (detail?.length ?? 0), 0),
    maxWeight: MAX_BATCH_WEIGHT,
    run: async (keeps) => {
      const answers = await store.keepSteps(keeps);
      return answers.map((answer, index) => (answer === "locked" && keeps.length > 1 ? keepAlone(keeps[index]!) : answer));
    },
  });
}

function linkTo(links: SignalLinks | null, id: string, name: string, ttlMs: number, payload: string | null): string {
  if (links !== null) return links.create({ id, name, payload, ttlMs });
  const advice = 'connect(url, { signals: { url: "https://jobs.example.com", secret } }), or PUBLIC_URL and SIGNAL_SECRET';
  throw new MillraceError("invalid_input", `ctx.signalUrl needs the address of your server and its secret: ${advice}`, {
    field: "signals",
  });
}

/** Passes on hints of work and of ended leases. A change of queue settings may be a resume: then there is work, too. */
function watch({ store, servedQueues }: WorkParts, listener: Parameters<Leases["watch"]>[0]): () => void {
  return store.watch((hint: Hint) => {
    if (hint.topic === "work") servedQueues.heard(hint.queue);
    if (hint.topic === "work" || hint.topic === "lease") listener(hint);
    else if (hint.topic === "queues") void hintOpenQueues(store, listener);
  });
}

async function hintOpenQueues(store: Store, listener: Parameters<Leases["watch"]>[0]): Promise<void> {
  try {
    for (const queue of await store.queues()) {
      const hasWork = queue.counts.some(({ status, count }) => status === "pending" && count > 0);
      if (hasWork && !queue.paused) listener({ topic: "work", queue: queue.name });
    }
  } catch {
    // The hint is lost. The worker polls anyway.
  }
}
