import { MillraceError } from "../../core/errors.ts";
import type { JobSummaryRecord } from "../../core/job.ts";
import { partitionOf } from "../../core/partition.ts";
import { type ListQuery, MAX_CANDIDATES } from "../store.ts";
import { ALL_STATES, listOf, numberOf, readLanes, readSummary, seqOf, statesOf, textOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { longId } from "./ids.ts";
import { LIST } from "./statements/query.ts";

interface Row {
  readonly seq: number;
  readonly job: JobSummaryRecord;
}

/** One partition's jobs, read in stretches. */
interface Source {
  readonly partition: number;
  rows: Row[];
  /** From below which sequence the next stretch is; null when there is none. */
  below: string | null;
}

/** The most jobs that one call shows. */
const LONGEST_STRETCH = 500;

/**
 * Lists newest first, which is by falling sequence: the sequence is the time of insertion in microseconds, so it orders jobs of different
 * partitions too. Each partition gives its jobs in stretches, and these are merged. A cursor is the sequence of the last job that was shown or
 * passed over.
 */
export async function listJobs(context: Context, query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }> {
  const below = query.cursor === undefined ? "" : decodeCursor(query.cursor);
  if (query.status?.length === 0) return { jobs: [], cursor: null };
  const partitions = query.queue === undefined ? [...(await context.registry.partitions()).keys()] : [partitionOf(query.queue)];
  const sources = partitions.map((partition): Source => ({ partition, rows: [], below }));
  const jobs: JobSummaryRecord[] = [];
  let looked = 0;
  for (;;) {
    const empty = sources.filter((source) => source.rows.length === 0 && source.below !== null);
    if (empty.length > 0) {
      if (looked >= MAX_CANDIDATES) return { jobs, cursor: highest(sources) };
      // Where some may be passed over here, one does not know how many it takes.
      const stretch = isPicky(query) ? LONGEST_STRETCH : Math.min(LONGEST_STRETCH, Math.ceil((2 * query.limit) / sources.length) + 1);
      const most = Math.max(1, Math.floor((MAX_CANDIDATES - looked) / empty.length));
      const counts = await Promise.all(empty.map((source) => fill(context, source, query, stretch, most)));
      looked += counts.reduce((sum, count) => sum + count, 0);
      continue;
    }
    const source = newest(sources);
    if (source === null) return { jobs, cursor: null };
    // One more than was asked for is looked up, so that the last page says that it is the last.
    if (jobs.length === query.limit) return { jobs, cursor: encodeCursor(source.rows[0]!.seq + 1) };
    jobs.push(source.rows.shift()!.job);
  }
}

/** The source whose next job is the newest. */
function newest(sources: readonly Source[]): Source | null {
  let best: Source | null = null;
  for (const source of sources) {
    if (source.rows.length > 0 && (best === null || source.rows[0]!.seq > best.rows[0]!.seq)) best = source;
  }
  return best;
}

/** Where the next page begins when this one ends for having looked at enough: whatever is below it was not shown yet. */
function highest(sources: readonly Source[]): string {
  const marks = sources.flatMap(({ rows, below }) => (rows.length > 0 ? [rows[0]!.seq + 1] : below === null ? [] : [Number(below)]));
  return encodeCursor(Math.max(...marks));
}

/** Reads the next stretch of a source. Tells how many jobs were looked at. */
async function fill({ session, keys }: Context, source: Source, query: ListQuery, want: number, most: number): Promise<number> {
  const states = query.status === undefined ? ALL_STATES : statesOf([...new Set(query.status)]);
  const before = query.to === undefined ? "" : String(query.to);
  const reply = await session.run(LIST, keys.partition(source.partition), [source.below!, before, states, String(want), String(most)]);
  const [parts, below, looked, lanes] = listOf(reply);
  const names = readLanes(lanes);
  const list = listOf(parts) as readonly Buffer[];
  source.below = textOf(below) === "" ? null : textOf(below);
  for (let at = 0; at < list.length; at += 3) {
    const record = list[at + 2]!;
    const job = readSummary(longId(list[at]!), list[at + 1]!, record, names);
    // What comes behind it is older still.
    if (query.from !== undefined && job.createdAt < query.from) source.below = null;
    else if (matches(job, query)) source.rows.push({ seq: seqOf(record), job });
  }
  return numberOf(looked);
}

/** Whether it is not the script alone that chooses. */
function isPicky({ type, queue, priority, tag, to }: ListQuery): boolean {
  return [type, queue, priority, tag, to].some((filter) => filter !== undefined);
}

/** Everything but the status, by which the script has chosen already. */
function matches(job: JobSummaryRecord, query: ListQuery): boolean {
  return (
    (query.type === undefined || job.type === query.type) &&
    (query.queue === undefined || job.queue === query.queue) &&
    (query.priority === undefined || (job.priority >= query.priority.min && job.priority <= query.priority.max)) &&
    (query.tag === undefined || job.tags.includes(query.tag)) &&
    (query.to === undefined || job.createdAt < query.to)
  );
}

function encodeCursor(below: number): string {
  return `r${below.toString(36)}`;
}

function decodeCursor(cursor: string): string {
  const below = /^r[0-9a-z]{1,11}$/.test(cursor) ? Number.parseInt(cursor.slice(1), 36) : Number.NaN;
  if (!Number.isSafeInteger(below)) throw new MillraceError("invalid_cursor", "cursor must be one that list gave out", { field: "cursor" });
  return String(below);
}
