import { auditEntry, detailsOf } from "../core/audit.ts";
import { isServed } from "../core/explain.ts";
import { sinceDeclared } from "../core/facets.ts";
import { type Status, STATUSES, WAITING } from "../core/job.ts";
import { readQueue } from "../core/job-options.ts";
import { type Actor, CHANGE_OPTIONS, readActor } from "../core/manual-change.ts";
import {
  DEFAULT_QUEUE,
  MAX_WAITING_TYPES,
  QUEUE_SETTINGS,
  type QueueChange,
  readCreate,
  readQueueOptions,
  settingIn,
  shownSettings,
} from "../core/queue.ts";
import { isInternalQueue } from "../core/internal.ts";
import { MINUTE_MS } from "../core/time-units.ts";
import { type CounterRow, MAX_BATCH, type QueueState, type Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import type { LevelCounts, QueueDetails, QueueInfo, StatusCounts } from "./client.ts";
import type { DeclaredSettings } from "./declared-settings.ts";
import { readInternalOption } from "./filter.ts";
import { queueNotFound, readOptions } from "./refusals.ts";

/** All queues by name, with settings, counts and figures; without internal ones unless the caller asks for them. */
export async function listQueues(store: Store, options: unknown): Promise<QueueInfo[]> {
  const isAll = readInternalOption(options, "queues");
  const [queues, pending] = await Promise.all([isAll ? store.queues() : usersQueues(store), store.oldest()]);
  return toQueueInfos(store, queues, pending);
}

/** One queue, and the heads of its lanes; null if there is no such queue. */
export async function readQueueDetails(store: Store, name: unknown): Promise<QueueDetails | null> {
  const queue = readQueue(name);
  const [queues, pending, workers] = await Promise.all([usersQueues(store), store.oldest(), store.workers()]);
  const wanted = queues.filter((each) => each.name === queue);
  const [info] = await toQueueInfos(store, wanted, pending);
  if (info === undefined) return null;
  const lanes = pending.lanes.filter((lane) => lane.queue === queue).sort((a, b) => a.runAt - b.runAt);
  const types = lanes.slice(0, MAX_WAITING_TYPES).map((lane) => ({
    type: lane.type,
    oldestWaitingMs: Math.max(0, pending.now - lane.runAt),
    hasWorker: isServed(lane, workers),
  }));
  return { ...info, types };
}

async function toQueueInfos(
  store: Store,
  queues: readonly QueueState[],
  { now, lanes }: Awaited<ReturnType<Store["oldest"]>>,
): Promise<QueueInfo[]> {
  const { rows } = await store.counters({ step: "minute", countsOnly: true, ...lastFullMinute(now) });
  const dueSince = new Map<string, number>();
  for (const { queue, runAt } of lanes) dueSince.set(queue, Math.min(runAt, dueSince.get(queue) ?? runAt));
  const ended = new Map(rows.map(({ queue, counts }) => [queue, countEnded(counts)]));
  const figuresOf = (name: string): Figures => {
    const since = dueSince.get(name);
    return { rate: ended.get(name) ?? 0, oldestWaitingMs: since === undefined ? null : Math.max(0, now - since) };
  };
  return queues.map((queue) => toQueueInfo(queue, figuresOf(queue.name))).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function lastFullMinute(now: number): { readonly from: number; readonly to: number } {
  const to = now - (now % MINUTE_MS);
  return { from: to - MINUTE_MS, to };
}

function countEnded({ completed = 0, failed = 0, dead = 0 }: CounterRow["counts"]): number {
  return completed + failed + dead;
}

/** Without internal queues: no user made them, and they have no settings. */
export async function usersQueues(store: Pick<Store, "queues">): Promise<QueueState[]> {
  return (await store.queues()).filter(({ name }) => !isInternalQueue(name));
}

/** What a change of settings needs. */
export interface ConfigureParts extends ClientParts {
  readonly declared: DeclaredSettings;
}

/** Changes the named settings. With a new head start, waits until the waiting jobs have their new rank; upkeep finishes this after a crash. */
export async function configureQueue(parts: ConfigureParts, queue: string, settings: unknown, options: unknown): Promise<void> {
  const { store, declared } = parts;
  readQueue(queue);
  const wanted = readQueueOptions(settings);
  const { create, actor } = readChangeOptions(parts, options, true);
  const change = await withTimes(store, queue, wanted);
  if (await changeQueue(store, queue, change, create)) {
    if (change.facets !== undefined || change.defaults !== undefined) declared.forget();
    await parts.writeAudit([auditEntry("queue:configured", actor, { queue, details: detailsOf(settings as object) })]);
  }
  if (change.headStartMs === undefined) return;
  while (await store.rerank(queue, MAX_BATCH));
}

/** A change with the time since when each of its facets holds. */
async function withTimes(store: Pick<Store, "queues" | "schedules">, queue: string, change: QueueChange): Promise<QueueChange> {
  if (change.facets === undefined || change.facets === null) return change;
  const before = (await store.queues()).find(({ name }) => name === queue)?.settings.facets ?? null;
  // Asked for only because it tells the store's time.
  const { now } = await store.schedules([]);
  return { ...change, facets: sinceDeclared(change.facets, before, now) };
}

/** Pauses or resumes a queue, and announces it. */
export async function setPaused(parts: ClientParts, queue: string, paused: boolean, options: unknown): Promise<void> {
  const { store, clock, announcer } = parts;
  readQueue(queue);
  const { create, actor } = readChangeOptions(parts, options, false);
  if (!(await changeQueue(store, queue, { paused }, create))) return;
  await parts.writeAudit([auditEntry(paused ? "queue:paused" : "queue:resumed", actor, { queue })]);
  if (announcer.wanted()) announcer.publish([{ event: paused ? "queue:paused" : "queue:resumed", at: clock.now(), queue }]);
}

export function readChangeOptions(
  { actor }: ClientParts,
  options: unknown,
  usual: boolean,
): { readonly create: boolean; readonly actor: Actor } {
  const { create, ...who } = readOptions(options, "the options of a change", ["create", ...CHANGE_OPTIONS]);
  return { create: readCreate({ create }, usual), actor: readActor(who, actor) };
}

/** The queue, or undefined if it is new and may be made. Otherwise `not_found`: its name may be mistyped. The default queue always exists. */
export async function demandQueue(store: Pick<Store, "queues">, queue: string, create: boolean): Promise<QueueState | undefined> {
  const queues = await usersQueues(store);
  const present = queues.find(({ name }) => name === queue);
  if (present === undefined && !create && queue !== DEFAULT_QUEUE) {
    throw queueNotFound(
      queue,
      queues.map(({ name }) => name),
    );
  }
  return present;
}

/**
 * Returns whether this changed anything: a repeat is no news, and no entry of the audit. Refuses the name of a queue that does not exist unless it
 * may be created.
 */
async function changeQueue(
  store: Pick<Store, "queues" | "configure">,
  queue: string,
  change: QueueChange,
  create: boolean,
): Promise<boolean> {
  const present = await demandQueue(store, queue, create);
  if (present !== undefined && isAlready(present, change)) return false;
  await store.configure(queue, change);
  return true;
}

function isAlready({ paused, settings }: QueueState, change: QueueChange): boolean {
  if (change.paused !== undefined && change.paused !== paused) return false;
  return QUEUE_SETTINGS.every((setting) => [undefined, settingIn(settings, setting)].includes(settingIn(change, setting)));
}

/** Counts by status, over all levels. */
export function countStatuses(counts: QueueState["counts"]): StatusCounts {
  const sums = Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<Status, number>;
  for (const { status, count } of counts) sums[status] += count;
  return sums;
}

/** Waiting jobs by level. */
export function countLevels(counts: QueueState["counts"]): LevelCounts {
  const sums = { critical: 0, high: 0, default: 0, low: 0 };
  for (const { status, level, count } of counts) if (WAITING.includes(status)) sums[level] += count;
  return sums;
}

type Figures = Pick<QueueInfo, "rate" | "oldestWaitingMs">;

function toQueueInfo({ name, paused, counts, settings }: QueueState, { rate, oldestWaitingMs }: Figures): QueueInfo {
  const shown = shownSettings(settings) as Pick<
    QueueInfo,
    "capacity" | "headStart" | "deadLetters" | "facets" | "defaults" | "limits" | "retention"
  >;
  return { name, paused, counts: countStatuses(counts), waiting: countLevels(counts), rate, oldestWaitingMs, ...shown };
}
