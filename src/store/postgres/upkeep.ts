import { FLOW_QUEUE } from "../../core/flow.ts";
import type { ExpiredRecord, Promoted, PromotedJob, PruneRule } from "../store.ts";
import type { Row } from "./codec.ts";
import type { Context } from "./context.ts";
import { readNumbers, readSummaries, readTexts } from "./context.ts";

export async function promoteJobs(context: Context, limit: number, tell = false): Promise<Promoted> {
  const floor = context.dueStart.next();
  const [row] = await context.connections.call(context.sql.promote, [context.now(), limit, floor, tell]);
  const { moved, next, queues, now, last, wasSlow, ids, lanes } = readPromoted(row!);
  context.dueStart.looked(floor, wasSlow, last);
  if (moved > 0) {
    context.housekeeping.wrote(moved);
    context.laneStarts.reset();
    context.sendWorkHints(readNumbers(queues));
  }
  const answer = { moved, nextInMs: next === null ? null : Math.max(0, next - now) };
  return tell ? { ...answer, jobs: await promotedJobs(context, readTexts(ids), readNumbers(lanes)) } : answer;
}

function readPromoted(row: Row) {
  return {
    moved: row[0] as number,
    next: row[1] as number | null,
    queues: row[2] as string | null,
    now: row[3] as number,
    last: row[4] as number | null,
    wasSlow: row[5] as boolean,
    ids: row[6] as string | null,
    lanes: row[7] as string | null,
  };
}

async function promotedJobs(context: Context, ids: readonly string[], lanes: readonly number[]): Promise<PromotedJob[]> {
  await context.catalog.learn(lanes);
  return ids.map((id, index) => {
    const { type, queue } = context.catalog.laneOf(lanes[index]!)!;
    return { id, type, queue };
  });
}

/** Columns of `expired`: the time until the next one, dead letters; then the job. */
const DEAD_LETTERS_AT = 1;
const JOB_AT = 2;

/** After a look that took at least this long, the rest is REST_AFTER times as long: looks take a twentieth of the time at most. */
const LONG_LOOK_MS = 20;
const REST_AFTER = 20;

export async function expiredJobs(
  context: Context,
  limit: number,
): Promise<{ jobs: ExpiredRecord[]; nextInMs: number | null; restMs?: number }> {
  const began = performance.now();
  const rows = await context.connections.call(context.sql.expired, [context.now(), limit]);
  const tookMs = performance.now() - began;
  const last = rows.at(-1)?.[DEAD_LETTERS_AT] === null ? rows.pop()! : null;
  const summaries = await readSummaries(context, rows, JOB_AT);
  const jobs = summaries.map((job, index) => ({ ...job, deadLetters: rows[index]![DEAD_LETTERS_AT] as boolean }));
  const nextInMs = last === null ? 0 : (last[0] as number | null);
  return tookMs < LONG_LOOK_MS ? { jobs, nextInMs } : { jobs, nextInMs, restMs: tookMs * REST_AFTER };
}

/** A flow may have a hundred thousand members, which are deleted in its commit: so few go at once, and others get their turn in between. */
const FLOWS_AT_ONCE = 10;

export async function pruneJobs(context: Context, rules: readonly PruneRule[], limit: number): Promise<{ removed: number }> {
  let removed = 0;
  for (const { queue, ageMs, count, keepAtLeastMs } of rules) {
    if (removed >= limit) break;
    const [found] = await context.connections.call(context.sql.queueByName, [queue]);
    if (found === undefined) continue;
    const isOfFlows = queue === FLOW_QUEUE;
    for (let wanted = 0, gone = 0; gone === wanted && removed < limit; removed += gone) {
      wanted = isOfFlows ? Math.min(FLOWS_AT_ONCE, limit - removed) : limit - removed;
      const values = [context.now(), found[0], ageMs, count, keepAtLeastMs, wanted];
      const [row] = await context.connections.call(context.sql.prune, values, { slow: isOfFlows });
      gone = row![0] as number;
      context.housekeeping.wrote(gone);
    }
  }
  return { removed };
}

const NEWS_KEPT_MS = 60_000;

export async function sweep(
  context: Context,
  keep: { readonly minutesMs: number; readonly hoursMs: number },
  limit: number,
): Promise<{ removed: number }> {
  // Counts past their retention may still be unfolded.
  await context.housekeeping.fold();
  await context.housekeeping.sweepFunctions();
  const [row] = await context.connections.call(context.sql.sweep, [context.now(), limit, keep.minutesMs, keep.hoursMs, NEWS_KEPT_MS]);
  const [limits] = await context.connections.call(context.sql.sweepLimits, [context.now(), limit]);
  return { removed: (row![0] as number) + (limits![0] as number) };
}
