import type { JobError } from "./job.ts";
import type { Mute } from "./mute.ts";
import { HOUR_MS } from "./time-units.ts";

/** Dead letters whose errors differ only in numbers, ids and quoted texts. */
export interface ErrorGroup {
  /** The id of the group, for filters. */
  readonly group: string;
  /** The error of the job that died last. */
  readonly name: string;
  readonly message: string;
  readonly count: number;
  /** The types of these jobs, up to 20. */
  readonly types: readonly string[];
  readonly firstSeenAt: number;
  /** The version of the application that the job which died first failed with; null if its worker had none. */
  readonly firstVersion: string | null;
  readonly lastSeenAt: number;
  /** How many of these jobs died in each of the last 24 hours, the earliest first: the last hour ends now. */
  readonly trend: readonly number[];
  /** The job that died last. */
  readonly sampleJobId: string;
  /** Since when it is muted, by whom and why; null if it is not. */
  readonly muted: Mute | null;
}

/** A group as stores find it. */
export type FoundGroup = Omit<ErrorGroup, "muted">;

/** How many groups a client asks for. */
export const MAX_GROUPS = 100;

/** How many hours a trend has. */
export const TREND_HOURS = 24;

/** How many whole hours ago something ended: TREND_HOURS if it is longer ago than a trend shows. Stores count by it in SQL and Lua. */
export function hoursAgo(at: number, now: number): number {
  return Math.min(TREND_HOURS, Math.max(0, Math.floor((now - at) / HOUR_MS)));
}

/** Jobs of one group and type that ended in the same hour, counted together. */
export interface Counted {
  readonly group: string;
  readonly type: string;
  readonly hoursAgo: number;
  readonly count: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** The one that died first, and the one that died last. Of several in the same millisecond, the lowest and the highest id. */
  readonly firstJobId: string;
  readonly sampleJobId: string;
}

const MAX_TYPES = 20;

/** Adds up counts by group and type from several places. */
export class ErrorTally {
  readonly #groups = new Map<string, Counted[]>();

  add(counted: Counted): void {
    const known = this.#groups.get(counted.group);
    if (known === undefined) this.#groups.set(counted.group, [counted]);
    else known.push(counted);
  }

  /** How many jobs each group has. */
  counts(): Map<string, number> {
    return new Map([...this.#groups].map(([group, parts]) => [group, countIn(parts)]));
  }

  /** The largest groups, and whether there are more. */
  top(limit: number): { groups: CountedGroup[]; hasMore: boolean } {
    const all = [...this.#groups.values()].map(addedUp).sort((a, b) => b.count - a.count || b.lastSeenAt - a.lastSeenAt);
    return { groups: all.slice(0, limit), hasMore: all.length > limit };
  }
}

/** A group before the errors of its first and its last job are known. */
export type CountedGroup = Omit<FoundGroup, "name" | "message" | "firstVersion"> & { readonly firstJobId: string };

/** The jobs whose errors `named` asks for. */
export function jobsToName(groups: readonly CountedGroup[]): string[] {
  return [...new Set(groups.flatMap(({ firstJobId, sampleJobId }) => [sampleJobId, firstJobId]))];
}

/** Adds what the errors of its first and its last job say of each group. */
export function named(groups: readonly CountedGroup[], errorOf: (id: string) => JobError | null | undefined): FoundGroup[] {
  return groups.flatMap(({ firstJobId, ...found }): FoundGroup[] => {
    const error = errorOf(found.sampleJobId);
    // The sample was removed or retried meanwhile. The next call finds what is left of its group.
    if (error?.group !== found.group) return [];
    const first = errorOf(firstJobId);
    const firstVersion = first?.group === found.group ? (first.version ?? null) : null;
    return [{ ...found, name: error.name, message: error.message, firstVersion }];
  });
}

function countIn(parts: readonly Counted[]): number {
  return parts.reduce((sum, { count }) => sum + count, 0);
}

function addedUp(parts: readonly Counted[]): CountedGroup {
  const first = parts.reduce((best, part) =>
    isBefore(part.firstSeenAt, part.firstJobId, best.firstSeenAt, best.firstJobId) ? part : best,
  );
  const trend = Array.from({ length: TREND_HOURS }, () => 0);
  for (const { hoursAgo: ago, count } of parts) if (ago < TREND_HOURS) trend[TREND_HOURS - 1 - ago]! += count;
  const latest = parts.reduce((best, part) =>
    isBefore(best.lastSeenAt, best.sampleJobId, part.lastSeenAt, part.sampleJobId) ? part : best,
  );
  return {
    group: latest.group,
    count: countIn(parts),
    types: [...new Set(parts.map(({ type }) => type))].sort().slice(0, MAX_TYPES),
    firstSeenAt: first.firstSeenAt,
    firstJobId: first.firstJobId,
    lastSeenAt: latest.lastSeenAt,
    trend,
    sampleJobId: latest.sampleJobId,
  };
}

function isBefore(at: number, id: string, otherAt: number, otherId: string): boolean {
  return at < otherAt || (at === otherAt && id < otherId);
}
