import type { ExpiredRecord, Promoted, PromotedJob, PruneRule } from "../store.ts";
import type { Context } from "./context.ts";
import { type StoredJob, summaryOf } from "./stored-job.ts";

export function promoteJobs({ jobs, now }: Context, limit: number, tell = false): Promoted {
  const { due } = jobs;
  const told: PromotedJob[] = [];
  let moved = 0;
  for (; moved < limit; moved++) {
    const job = due.first;
    if (job === undefined || job.order > now) break;
    jobs.leaveLine(job);
    job.record.updatedAt = now;
    jobs.enter(job, "pending");
    if (tell) told.push({ id: job.record.id, type: job.record.type, queue: job.record.queue });
  }
  const nextInMs = untilNext(due.first?.order, now);
  return tell ? { moved, nextInMs, jobs: told } : { moved, nextInMs };
}

export function expiredJobs({ jobs: { leases }, now }: Context, limit: number): { jobs: ExpiredRecord[]; nextInMs: number | null } {
  const found: StoredJob[] = [];
  while (found.length < limit) {
    const job = leases.first;
    if (job === undefined || job.leaseUntil > now) break;
    leases.remove(job);
    found.push(job);
  }
  const nextInMs = untilNext(leases.first?.leaseUntil, now);
  // They were only removed to find the lease after them.
  for (const job of found) leases.add(job);
  return { jobs: found.map((job) => ({ ...summaryOf(job), deadLetters: job.queue.settings.deadLetters })), nextInMs };
}

export function pruneJobs({ jobs, now }: Context, rules: readonly PruneRule[], limit: number): { removed: number } {
  let removed = 0;
  for (const rule of rules) {
    const ended = jobs.queues.get(rule.queue)?.ended;
    while (removed < limit) {
      const job = ended?.first;
      if (job === undefined || !isPastKeep(now - job.record.completedAt!, ended!.size, rule)) break;
      jobs.keys.outlive(job);
      jobs.forget(job);
      removed++;
    }
  }
  return { removed };
}

function isPastKeep(agoMs: number, kept: number, rule: PruneRule): boolean {
  return agoMs >= rule.keepAtLeastMs && (agoMs > rule.ageMs || kept > rule.count);
}

export function sweep(
  { jobs, counters, shared, now }: Context,
  keep: { readonly minutesMs: number; readonly hoursMs: number },
  limit: number,
): { removed: number } {
  const periods = counters.sweep(now, now - keep.minutesMs, now - keep.hoursMs, limit);
  let keys = 0;
  for (const { turns, lanes, limitKeys } of jobs.queues.values()) {
    keys += turns.sweep(limit - keys, ({ type, priority }) => lanes.firstOf(type, priority) !== undefined);
    keys += limitKeys.sweep(now, limit - keys);
  }
  return { removed: jobs.keys.sweep(now, limit) + periods + shared.sweep(now, limit) + keys };
}

export function untilNext(at: number | null | undefined, now: number): number | null {
  return at === undefined || at === null ? null : Math.max(0, at - now);
}
