/** BULK OPERATIONS of a client over a store: start, show, stop. bulk-handler.ts runs them. */
import { auditEntry, detailsOf } from "../core/audit.ts";
import { BULK_QUEUE, BULK_TYPE, bulkStatusOf, readBulkLog } from "../core/bulk.ts";
import { formatDuration } from "../core/duration.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { isTerminal, type JobRecord, MAX_LOG_LINES, type NewJob, PLAIN_JOB, type Status } from "../core/job.ts";
import { CANCEL } from "../core/lifecycle.ts";
import { type Actor, CHANGE_OPTIONS, readActor } from "../core/manual-change.ts";
import { partitionOf } from "../core/partition.ts";
import { tenBitsOf } from "../lib/id.ts";
import type { Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import { atMost, countMatching, type Matched } from "./bulk-count.ts";
import { actorOf, type BulkPayload, type BulkResult } from "./bulk-handler.ts";
import { type Portion, readBulkRequest, type Wanted } from "./bulk-request.ts";
import { announceChanges, tellEnded } from "./changes.ts";
import type { BulkOperation, BulkOperations, BulkPage } from "./client.ts";
import { readBulkPage } from "./filter.ts";
import { auditedGroup, readGroupWords } from "./group-words.ts";
import { readId, readOptions } from "./refusals.ts";

export interface BulkParts extends ClientParts {
  readonly createId: (tenBits: number) => string;
  /** Makes this process run operations until this one has ended in any process. */
  readonly workUntilEnd: (id: string) => void;
}

/** Enough for a store that is away for some minutes. */
const RETRIES = 20;
const FIRST_PAUSE_MS = 1000;

export function createBulk(parts: BulkParts): BulkOperations {
  const { store } = parts;
  return {
    async preview(request) {
      const { action, filter, query, limit, spreadMs: spread } = readBulkRequest(request, true);
      const [groupWords, matched] = await Promise.all([readGroupWords(store, query.group), countMatching(store, query)]);
      return { action, filter, groupWords, limit, spread, ...atMost(limit, matched) };
    },
    async start(request, options) {
      const wanted = readBulkRequest(request, false);
      const { id, ...who } = readOptions(options, "the options of a bulk operation", ["id", ...CHANGE_OPTIONS]);
      const actor = readActor(who, parts.actor);
      const [words, matched] = await Promise.all([readGroupWords(store, wanted.query.group), countMatching(store, wanted.query)]);
      const job = newOperation(readNewId(parts, id), wanted, words, atMost(wanted.limit, matched), actor);
      const known = await find(store, job.id);
      await store.insert([job]);
      parts.workUntilEnd(job.id);
      // Sent again because its answer was lost, it is the same operation.
      if (known === null) await writeStart(parts, job.id, wanted, words, actor);
      return demand(store, job.id);
    },
    get: (id) => find(store, readId(id)),
    list: (page) => listOperations(store, page),
    stop: async (id, options) => {
      return stop(parts, readId(id), readActor(readOptions(options, "the options of a change", CHANGE_OPTIONS), parts.actor));
    },
  };
}

async function writeStart(
  { writeAudit }: BulkParts,
  id: string,
  wanted: Wanted & Portion,
  words: string | null,
  actor: Actor,
): Promise<void> {
  const { action, filter, limit, spreadMs } = wanted;
  const details = detailsOf({
    action,
    limit: limit ?? undefined,
    spread: spreadMs === null ? undefined : formatDuration(spreadMs),
    ...filter,
    ...auditedGroup(filter.group, words),
  });
  await writeAudit([auditEntry("bulk:started", actor, { jobId: id, queue: filter.queue ?? null, details })]);
}

function readNewId({ createId }: BulkParts, id: unknown): string {
  const partition = partitionOf(BULK_QUEUE);
  if (id === undefined) return createId(partition);
  const given = readId(id);
  if (tenBitsOf(given) !== partition) throw invalid("id", `an id with the partition of queue ${BULK_QUEUE}`, id);
  return given;
}

function newOperation(
  id: string,
  wanted: Wanted & Portion,
  words: string | null,
  { matched, matchedIsCapped }: Matched,
  actor: Actor,
): NewJob {
  const { action, filter, limit, spreadMs: spread_ms } = wanted;
  const counted = { matched, matched_is_capped: matchedIsCapped };
  const payload: BulkPayload = { action, filter, limit, spread_ms, ...counted, group_words: words, ...actor };
  return {
    id,
    type: BULK_TYPE,
    queue: BULK_QUEUE,
    ...PLAIN_JOB,
    payload: JSON.stringify(payload),
    maxRetries: RETRIES,
    maxLost: RETRIES,
    retryDelayMs: FIRST_PAUSE_MS,
    timeoutMs: 0,
    webhookUrl: null,
  };
}

// ── Show ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function demand(store: Store, id: string): Promise<BulkOperation> {
  const operation = await find(store, id);
  if (operation === null) throw operationNotFound(id);
  return operation;
}

async function find(store: Store, id: string): Promise<BulkOperation | null> {
  const [record] = await store.find([id]);
  return record?.type === BULK_TYPE ? toOperation(store, record) : null;
}

/** Stores find jobs in these statuses by queue, and search those in the other two among all jobs: one query for each kind. */
const FOUND_BY_QUEUE: readonly Status[] = ["pending", "running", "completed", "cancelled", "failed", "dead"];
const WAITING_AGAIN: readonly Status[] = ["scheduled", "retrying"];

/** The few that wait for another attempt have no pages of their own: they come with the first. */
async function listOperations(store: Store, input: unknown): Promise<BulkPage> {
  const { limit, cursor } = readBulkPage(input);
  const ofBulk = { internal: true, queue: BULK_QUEUE, type: BULK_TYPE, limit };
  const [page, again] = await Promise.all([
    store.list({ ...ofBulk, status: FOUND_BY_QUEUE, cursor }),
    cursor === undefined ? store.list({ ...ofBulk, status: WAITING_AGAIN }) : { jobs: [] },
  ]);
  const newest = [...page.jobs, ...again.jobs].sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  // A job whose status changed between the two queries may be in both.
  const ids = [...new Set(newest.map(({ id }) => id))];
  const records = ids.length === 0 ? [] : await store.find(ids);
  const operations = await Promise.all(records.filter((record) => record !== null).map((record) => toOperation(store, record)));
  return { operations, cursor: page.cursor };
}

async function toOperation(store: Store, record: JobRecord): Promise<BulkOperation> {
  const payload = JSON.parse(record.payload) as BulkPayload;
  const { action, filter, group_words: groupWords = null, limit = null, spread_ms: spread = null, matched, matched_is_capped } = payload;
  const { updatedAt, ...done } = await progressOf(store, record);
  return {
    id: record.id,
    action,
    filter,
    groupWords,
    limit,
    spread,
    status: bulkStatusOf(record.status),
    matched,
    matchedIsCapped: matched_is_capped,
    ...actorOf(payload),
    ...done,
    error: bulkStatusOf(record.status) === "stopped" ? null : (record.error?.message ?? null),
    createdAt: record.createdAt,
    updatedAt,
    endedAt: isTerminal(record.status) ? record.completedAt : null,
  };
}

/** A completed operation has all in its result; otherwise its log has it. */
async function progressOf(store: Store, record: JobRecord): Promise<BulkResult & { readonly updatedAt: number }> {
  if (record.result !== null) return { ...(JSON.parse(record.result) as BulkResult), updatedAt: record.updatedAt };
  const lines = await store.logs(record.id, 0, MAX_LOG_LINES);
  const { mark, failures } = readBulkLog(lines);
  const { processed, succeeded, failed } = mark;
  return { processed, succeeded, failed, failures, updatedAt: Math.max(record.updatedAt, lines.at(-1)?.at ?? 0) };
}

// ── Stop ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function stop(parts: BulkParts, id: string, actor: Actor): Promise<BulkOperation> {
  const { store, announcer } = parts;
  const operation = await demand(store, id);
  const answers = await store.change([id], CANCEL, { action: "cancelled", ...actor });
  tellEnded(announcer, announceChanges(parts, answers, "job:cancelled"));
  const [answer] = answers;
  if (answer?.kind === "ok") await parts.writeAudit([auditEntry("bulk:stopped", actor, { jobId: id })]);
  if (answer?.kind === "missing") throw operationNotFound(id);
  // Already stopped is a success, too: the first answer may have been lost.
  if (answer?.kind === "refused" && answer.status !== "cancelled") {
    const { status } = operation.status === "running" ? await demand(store, id) : operation;
    throw new MillraceError("wrong_status", `bulk operation ${id} has already ended: it is ${status}`, { jobId: id, field: "status" });
  }
  return demand(store, id);
}

function operationNotFound(id: string): MillraceError {
  return new MillraceError("not_found", `there is no bulk operation ${id}: it was pruned after its retention, or never existed`, {
    jobId: id,
  });
}
