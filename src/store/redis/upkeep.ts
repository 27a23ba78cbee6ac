import type { ExpiredRecord, Promoted, PromotedJob, PruneRule } from "../store.ts";
import { tallyCells } from "../numbers.ts";
import { partitionOf } from "../../core/partition.ts";
import { listOf, numberOf, readLanes, readSummary, type Reply, textOf } from "./codec.ts";
import { type Context, MOST_PER_SCRIPT } from "./context.ts";
import { longId, TAGS } from "./ids.ts";
import { sweepSchemas } from "./schemas.ts";
import { SWEEP_LIMITS } from "./statements/key-limits.ts";
import { EXPIRED, LOOKS_AT_ONCE, PROMOTE, PRUNE, REPAIR, SWEEP } from "./statements/upkeep.ts";
import { RERANK } from "./statements/queues.ts";
import { SWEEP_AUDIT, SWEEP_MUTES, SWEEP_WORKERS } from "./statements/shared.ts";

/**
 * Asks every partition when its next job is due, then promotes in those that have due jobs, one after the other. If one could not be reached,
 * the answer says that more are due: the next call finds none in the others, and tells why.
 */
export async function promoteJobs(context: Context, limit: number, tell = false): Promise<Promoted> {
  const partitions = [...(await context.registry.partitions()).keys()];
  // A single partition need not be asked first.
  const peek = partitions.length === 1 ? limit : 0;
  const { answers, trouble } = await context.reach.ask("promote", partitions, (partition) => promoteSome(context, partition, peek, tell));
  const first = answers.map((answer) => answer ?? { moved: 0, nextInMs: null, jobs: [] });
  let moved = first.reduce((sum, answer) => sum + answer.moved, 0);
  const nexts = first.map(({ nextInMs }) => nextInMs);
  const jobs = first.flatMap((answer) => answer.jobs);
  for (const [index, partition] of partitions.entries()) {
    while (nexts[index] === 0 && moved < limit) {
      const answer = await promoteSome(context, partition, limit - moved, tell);
      moved += answer.moved;
      jobs.push(...answer.jobs);
      nexts[index] = answer.nextInMs;
      if (answer.moved === 0) break;
    }
  }
  if (trouble !== undefined && moved === 0) throw trouble;
  return { moved, nextInMs: trouble === undefined ? earliest(nexts) : 0, ...(tell ? { jobs } : {}) };
}

async function promoteSome({ session, keys, feed }: Context, partition: number, limit: number, tell: boolean): Promise<Required<Promoted>> {
  const reply = await session.run(PROMOTE, keys.partition(partition), [String(Math.min(limit, MOST_PER_SCRIPT)), tell ? "1" : ""]);
  const [moved, next, hints, told, lanes] = listOf(reply);
  feed.sendHints(hints);
  const names = readLanes(lanes);
  const parts = listOf(told);
  const jobs: PromotedJob[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    jobs.push({ id: longId(parts[at] as Buffer), ...names.get(numberOf(parts[at + 1]))! });
  }
  return { moved: numberOf(moved), nextInMs: readNext(next), jobs };
}

function readNext(reply: Reply | undefined): number | null {
  const next = numberOf(reply);
  return next < 0 ? null : next;
}

function earliest(nexts: readonly (number | null)[]): number | null {
  const known = nexts.filter((next) => next !== null);
  return known.length === 0 ? null : Math.min(...known);
}

export async function expiredJobs(context: Context, limit: number): Promise<{ jobs: ExpiredRecord[]; nextInMs: number | null }> {
  const partitions = [...(await context.registry.partitions()).keys()];
  const { answers, trouble } = await context.reach.ask("expired", partitions, (partition) => expiredIn(context, partition, limit));
  const reached = answers.filter((answer) => answer !== undefined);
  const found = reached.flatMap((answer) => answer.found).sort((a, b) => a.over - b.over);
  if (trouble !== undefined && found.length === 0) throw trouble;
  const nexts = reached.map(({ nextInMs }) => nextInMs);
  // More leases than the limit have run out. Or some of a partition that was not reached.
  if (found.length > limit || trouble !== undefined) nexts.push(0);
  return { jobs: found.slice(0, limit).map(({ job }) => job), nextInMs: earliest(nexts) };
}

interface Expired {
  readonly over: number;
  readonly job: ExpiredRecord;
}

async function expiredIn(
  { session, keys }: Context,
  partition: number,
  limit: number,
): Promise<{ found: Expired[]; nextInMs: number | null }> {
  const reply = await session.run(EXPIRED, keys.partition(partition), [String(limit)]);
  const [jobs, next, lanes, failing] = listOf(reply);
  const names = readLanes(lanes);
  const withoutDeadLetters = new Set(listOf(failing).map(textOf));
  const parts = listOf(jobs);
  const found: Expired[] = [];
  for (let at = 0; at < parts.length; at += 4) {
    const summary = readSummary(longId(parts[at + 1] as Buffer), parts[at + 2] as Buffer, parts[at + 3] as Buffer, names);
    found.push({ over: numberOf(parts[at]), job: { ...summary, deadLetters: !withoutDeadLetters.has(summary.queue) } });
  }
  return { found, nextInMs: readNext(next) };
}

export async function pruneJobs({ session, keys }: Context, rules: readonly PruneRule[], limit: number): Promise<{ removed: number }> {
  let removed = 0;
  for (const { queue, ageMs, count, keepAtLeastMs } of rules) {
    for (let more = true; more && removed < limit;) {
      const most = Math.min(limit - removed, MOST_PER_SCRIPT);
      const args = [queue, ...[ageMs, count, keepAtLeastMs, most].map(String)];
      const [some, hasMore] = listOf(await session.run(PRUNE, keys.partition(partitionOf(queue)), args)).map(numberOf) as [number, number];
      removed += some;
      more = some === most || hasMore === 1;
    }
  }
  return { removed };
}

export async function sweep(
  context: Context,
  keep: { readonly minutesMs: number; readonly hoursMs: number },
  limit: number,
): Promise<{ removed: number }> {
  const { session, keys, registry } = context;
  let removed = numberOf(await session.run(SWEEP_WORKERS, keys.workers, [String(limit)]));
  removed += numberOf(await session.run(SWEEP_MUTES, keys.mutes, [String(limit)]));
  removed += await sweepSchemas(context, limit);
  removed += numberOf(await session.run(SWEEP_AUDIT, keys.audit, [String(limit)]));
  for (const [partition, queues] of await registry.partitions()) {
    const args = [keep.minutesMs, keep.hoursMs, limit].map(String);
    removed += numberOf(await session.run(SWEEP, keys.partition(partition), args));
    removed += numberOf(await session.run(SWEEP_LIMITS, keys.partition(partition), [String(Math.min(limit, MOST_PER_SCRIPT)), ...queues]));
    await repairLeases(context, partition, queues);
  }
  await registry.registerAgain();
  return { removed };
}

const RUNNING_CELLS = tallyCells("running").map(String);

/** A running job that is missing among the leases would run for ever. The tallies tell whether there are any. */
async function repairLeases({ session, keys }: Context, partition: number, queues: readonly string[]): Promise<void> {
  const base = keys.partition(partition);
  const [leases, ...cells] = await Promise.all([
    session.command("ZCARD", `${base}:r`),
    ...queues.map((queue) => session.command("HMGET", `${base}:t:${queue}`, ...RUNNING_CELLS)),
  ]);
  const running = cells.flatMap(listOf).reduce<number>((sum, cell) => sum + (cell === null ? 0 : numberOf(cell)), 0);
  if (running <= numberOf(leases)) return;
  let cursor = "0";
  for (let from = 0; from < TAGS.length;) {
    const reply = listOf(await session.run(REPAIR, base, [cursor, ...TAGS.slice(from, from + LOOKS_AT_ONCE)]));
    from += numberOf(reply[0]);
    cursor = textOf(reply[1]);
  }
}

export async function rerankJobs({ session, keys }: Context, queue: string, limit: number): Promise<boolean> {
  return numberOf(await session.run(RERANK, keys.partition(partitionOf(queue)), [queue, String(limit)])) === 1;
}
