/** ENQUEUE WITH A COALESCING KEY: see core/coalesce.ts. Each step can be repeated, and whoever loses a race looks again. */
import { createHash } from "node:crypto";
import { type Coalesce, type CoalesceOutcome, KEY_TYPE, type KeyHead, keyMove, metOf, newKeyHead, quietUntil } from "../core/coalesce.ts";
import { MillraceError } from "../core/errors.ts";
import { createdEvent } from "../core/event.ts";
import { KEY_QUEUE } from "../core/flow.ts";
import { parentOfKey } from "../core/flow-parent.ts";
import { type JobRecord, type NewJob, PLAIN_JOB, WAITING } from "../core/job.ts";
import { CANCEL, type Move, OPEN } from "../core/lifecycle.ts";
import { partitionOf } from "../core/partition.ts";
import { insertDeadlines, insertWithDeadlines } from "../flows/deadlines.ts";
import { changeHead, endKey, jobEnded } from "../flows/tell-keys.ts";
import type { ReplaceAnswer, Store } from "../store/store.ts";
import { announceChanges, tellEnded } from "./changes.ts";
import type { EnqueueParts } from "./enqueue.ts";
import { flowParts } from "./flows.ts";
import { heldElsewhere, queueFull } from "./refusals.ts";

/** What became of a call, and the job. */
export interface Coalesced {
  readonly outcome: CoalesceOutcome;
  readonly job: JobRecord;
}

/** How often others may be faster. Each time one of them has got on. */
const MAX_TRIES = 100;
/** How often what is known of a key may be gone before its idempotency key is. */
const MAX_GONE = 10;

/** What is known of a key: a job that waits, and what stands beside it. */
interface Known {
  readonly id: string;
  readonly createdAt: number;
  readonly version: number;
  readonly now: number;
  readonly head: KeyHead;
}

export async function coalesce(parts: EnqueueParts, job: NewJob, wanted: Coalesce): Promise<Coalesced> {
  const { store } = parts;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await findKey(parts, job, wanted);
    if (found.isNew) return created(parts, found.id, job, wanted);
    const known = await readKey(store, found.record);
    if (known === null) continue;
    if (known.head.isOver) {
      await endKey(store, known.id);
      continue;
    }
    if (known.head.type !== job.type) throw keyConflict(wanted.key, known.head.type);
    const done = await repeat(parts, known, job, wanted);
    if (done !== null) return done;
  }
  throw heldElsewhere(`the coalescing key "${wanted.key}"`);
}

type Found = { readonly isNew: true; readonly id: string } | { readonly isNew: false; readonly record: JobRecord };

/** The key, made by this call if it is new. */
async function findKey(parts: EnqueueParts, job: NewJob, wanted: Coalesce): Promise<Found> {
  for (let gone = 0; gone < MAX_GONE; gone++) {
    const id = parts.createId(partitionOf(KEY_QUEUE));
    const [answer] = await parts.store.insert([newKey(id, job, wanted, gone)]);
    if (answer!.kind === "created") return { isNew: true, id };
    if (answer!.kind === "known") return { isNew: false, record: answer!.job };
    if (answer!.kind === "locked") throw heldElsewhere(`the coalescing key "${wanted.key}"`);
  }
  throw heldElsewhere(`the coalescing key "${wanted.key}"`);
}

function newKey(id: string, job: NewJob, wanted: Coalesce, gone: number): NewJob {
  return {
    id,
    type: KEY_TYPE,
    queue: KEY_QUEUE,
    ...PLAIN_JOB,
    payload: JSON.stringify({ queue: job.queue, key: wanted.key }),
    maxRetries: 0,
    maxLost: 0,
    retryDelayMs: 0,
    timeoutMs: 0,
    webhookUrl: null,
    blocked: true,
    idempotencyKey: digestOfKey(job.queue, wanted.key, gone),
    keyTtlMs: wanted.everyMs ?? 0,
    fingerprint: KEY_TYPE,
    flow: { head: JSON.stringify(newKeyHead(job.type, job.id, wanted)), members: [], notices: [] },
  };
}

async function readKey(store: Store, { id, createdAt }: JobRecord): Promise<Known | null> {
  const [page] = await store.readFlows([{ id, names: [] }]);
  return page === null ? null : { id, createdAt, version: page!.version, now: page!.now, head: JSON.parse(page!.head) as KeyHead };
}

// ── The first call ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function created(parts: EnqueueParts, key: string, job: NewJob, wanted: Coalesce): Promise<Coalesced> {
  try {
    await refuseFull(parts.store, job);
  } catch (error) {
    // Nothing is left behind.
    await jobEnded(flowParts(parts), key, job.id);
    throw error;
  }
  return insertOwn(parts, key, wanted.quietMs === null ? job : { ...job, delayMs: wanted.quietMs, runAt: null }, wanted);
}

/** The job always fits once its key is there, so its queue is looked at before: many calls at once may exceed a capacity by what they bring. */
async function refuseFull(store: Store, { queue, blocked }: NewJob): Promise<void> {
  const state = blocked === true ? undefined : (await store.queues()).find(({ name }) => name === queue);
  const capacity = state?.settings.capacity ?? null;
  if (capacity === null) return;
  const waiting = state!.counts.reduce((sum, { status, count }) => sum + (WAITING.includes(status) ? count : 0), 0);
  if (waiting >= capacity) throw queueFull(queue, capacity);
}

async function insertOwn(parts: EnqueueParts, key: string, job: NewJob, wanted: Coalesce): Promise<Coalesced> {
  const { store, announcer, clock } = parts;
  const [answer] = await insertWithDeadlines(store, [{ ...job, parent: parentOfKey(key, wanted.key) }]);
  if (answer!.kind === "locked") throw heldElsewhere(`job ${job.id}`);
  if (announcer.wanted()) announcer.publish([createdEvent(job, clock.now())]);
  return { outcome: "created", job: await demand(store, job.id) };
}

async function demand(store: Store, id: string): Promise<JobRecord> {
  const [record] = await store.find([id]);
  if (record === null) throw new MillraceError("not_found", `job ${id} was removed right after it was enqueued`, { jobId: id });
  return record!;
}

// ── A repeat ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Null: something has changed meanwhile, so look again. */
async function repeat(parts: EnqueueParts, known: Known, job: NewJob, wanted: Coalesce): Promise<Coalesced | null> {
  const { store } = parts;
  const { id, head } = known;
  const own = job.id === head.job || job.id === head.followUp ? (await store.find([job.id]))[0]! : null;
  // The answer to this very call was lost.
  if (own !== null) return { outcome: "created", job: own };
  if (head.job === null) return startWindow(parts, known, job, wanted);
  const [present] = await store.find([head.job]);
  switch (metOf(present!)) {
    case "gone":
      // Whoever made the key has not stored its job yet, or is gone. Either way there is a job now, into which this call is merged.
      await refuseFull(store, job);
      await insertOwn(parts, id, due({ ...job, id: head.job }, known, wanted), wanted);
      return null;
    case "ended":
      await storeFollowUp(parts, known, job, wanted);
      await jobEnded(flowParts(parts), id, head.job);
      return null;
    case "waits":
      return merge(parts, present!, due(job, known, wanted), known, wanted);
    case "started":
      return wanted.whileRunning === "skip" ? { outcome: "skipped", job: present! } : followUp(parts, known, present!, job, wanted);
  }
}

function due(job: NewJob, { head, createdAt, now }: Known, wanted: Coalesce): NewJob {
  if (wanted.quietMs === null) return job;
  return { ...job, delayMs: 0, runAt: quietUntil(wanted, head.since ?? createdAt, now) };
}

/**
 * Merges into a job that was never claimed; a claim and this exclude each other. A job that is due already only gets the payload: if it were put in
 * line anew with each repeat, it might never reach the front.
 */
async function merge(parts: EnqueueParts, present: JobRecord, job: NewJob, known: Known, wanted: Coalesce): Promise<Coalesced | null> {
  const { store } = parts;
  if (wanted.keep === "first" && wanted.quietMs === null) return { outcome: "skipped", job: present };
  const isInLine = present.status === "pending" && (job.runAt === null || job.runAt <= known.now);
  const kept = wanted.keep === "first" ? asNewJob(present) : job;
  const next = { ...kept, id: present.id, parent: parentOfKey(known.id, wanted.key), delayMs: 0, runAt: job.runAt ?? present.runAt };
  const [answer] = isInLine ? await editInLine(store, next) : await store.replace([next]);
  if (answer === "locked") throw heldElsewhere(`job ${present.id}`);
  if (answer !== "ok") return null;
  const merged = await demand(store, present.id);
  await insertDeadlines(store, [merged]);
  return { outcome: "merged", job: merged };
}

/** Gives a job in line another payload. It keeps its place. */
async function editInLine(store: Store, { id, payload, facets }: NewJob): Promise<[ReplaceAnswer]> {
  const [answer] = await store.change([id], { ...STAY_IN_LINE, edit: { payload, facets } });
  return [answer!.kind];
}

const STAY_IN_LINE: Move = { from: ["pending"], transition: { ...OPEN.transition, to: "pending", delayMs: null } };

/** A stored job as it was enqueued. */
function asNewJob(record: JobRecord): NewJob {
  const { payload, maxRetries, maxLost, retryDelayMs, backoff, timeoutMs, webhookUrl, tags, meta, facets, limitKey, cost, startWithinMs } =
    record;
  const { id, type, queue, priority } = record;
  const same = {
    payload,
    maxRetries,
    maxLost,
    retryDelayMs,
    backoff,
    timeoutMs,
    webhookUrl,
    tags,
    meta,
    facets,
    limitKey,
    cost,
    startWithinMs,
  };
  return { id, type, queue, priority, ...same, delayMs: 0, runAt: null, idempotencyKey: null, keyTtlMs: 0, fingerprint: null };
}

/** One more job, which waits until the present one has ended. */
async function followUp(parts: EnqueueParts, known: Known, present: JobRecord, job: NewJob, wanted: Coalesce): Promise<Coalesced | null> {
  const { store } = parts;
  const { id, version, head, now } = known;
  const isNew = head.followUp === null;
  const named = {
    followUp: head.followUp ?? job.id,
    followUpAt: isNew ? now : head.followUpAt,
    followUpDue: followUpDue(known, job, wanted),
  };
  const isSame = !isNew && named.followUpDue === head.followUpDue;
  if (!isSame && !(await changeHead(store, id, version, { ...head, ...named }))) return null;
  const [there] = isNew ? [null] : await store.find([named.followUp]);
  const blocked = asFollowUp(job, named.followUp);
  let done: Coalesced | null;
  if (there === null) {
    done = await insertOwn(parts, id, blocked, wanted);
    // Somebody else has named it, and may store it at this moment.
    if (!isNew) return null;
  } else if (there!.status === "blocked" && there!.fence === 0)
    done = await merge(parts, there!, blocked, known, { ...wanted, quietMs: null });
  else {
    // The present one has ended, and this one has opened.
    await jobEnded(flowParts(parts), id, present.id);
    return null;
  }
  if (wanted.whileRunning === "cancel") {
    const reason = `another job with the coalescing key "${wanted.key}" was enqueued`;
    const answers = await store.change([present.id], CANCEL, { action: "cancelled", by: null, reason });
    tellEnded(parts.announcer, announceChanges(parts, answers, "job:cancelled"));
    await jobEnded(flowParts(parts), id, present.id);
  }
  return done;
}

function asFollowUp(job: NewJob, id: string): NewJob {
  return { ...job, id, blocked: true, delayMs: 0, runAt: null };
}

/** When it is due by what its calls said; null: once the present job has ended. */
function followUpDue({ head, now }: Known, { runAt, delayMs }: NewJob, wanted: Coalesce): number | null {
  if (wanted.quietMs !== null) return quietUntil(wanted, head.followUp === null ? now : head.followUpAt, now);
  return runAt ?? (delayMs > 0 ? now + delayMs : null);
}

/** Whoever named a follow-up may be gone before it was stored: then this call's is as good, and others need not wait. */
async function storeFollowUp(parts: EnqueueParts, { id, head }: Known, job: NewJob, wanted: Coalesce): Promise<void> {
  if (head.followUp === null) return;
  const [there] = await parts.store.find([head.followUp]);
  if (there === null) await insertOwn(parts, id, asFollowUp(job, head.followUp), wanted);
}

/** In the window of a throttle without a job: this one starts at its end. */
async function startWindow(
  parts: EnqueueParts,
  { id, version, head, now }: Known,
  job: NewJob,
  wanted: Coalesce,
): Promise<Coalesced | null> {
  const { store } = parts;
  await refuseFull(store, job);
  const [answer] = await store.change([id], keyMove("blocked"));
  if (answer!.kind === "locked") throw heldElsewhere(`the coalescing key "${wanted.key}"`);
  const next = { ...head, job: job.id, since: now, everyMs: wanted.everyMs, windowEnd: null };
  if (!(await changeHead(store, id, version, next))) return null;
  const later = wanted.quietMs === null ? { ...job, delayMs: 0, runAt: head.windowEnd } : { ...job, delayMs: wanted.quietMs, runAt: null };
  return insertOwn(parts, id, later, wanted);
}

function keyConflict(key: string, type: string): MillraceError {
  return new MillraceError("key_conflict", `the coalescing key "${key}" belongs to a job of type ${type}`, { field: "coalesce.key" });
}

/** The idempotency key of what is known of a key. Another one if what was known is gone, but its own key is not. */
function digestOfKey(queue: string, key: string, tries: number): string {
  return createHash("sha256").update(`${queue}\n${key}\n${tries}`).digest("base64url");
}
