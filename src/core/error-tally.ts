import type { JobError } from "./job.ts";

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
  readonly lastSeenAt: number;
  /** The job that died last. */
  readonly sampleJobId: string;
}

/** Jobs of one group and type, counted together. */
export interface Counted {
  readonly group: string;
  readonly type: string;
  readonly count: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** The one that died last. */
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

  /** The largest groups, and whether there are more. */
  top(limit: number): { groups: CountedGroup[]; isMore: boolean } {
    const all = [...this.#groups.values()].map(addedUp).sort((a, b) => b.count - a.count || b.lastSeenAt - a.lastSeenAt);
    return { groups: all.slice(0, limit), isMore: all.length > limit };
  }
}

/** A group before the name and message of its sample job are known. */
export type CountedGroup = Omit<ErrorGroup, "name" | "message">;

/** Adds the name and message of each group's sample job. `errors` has the order of `groups`. */
export function named(groups: readonly CountedGroup[], errors: readonly (JobError | null | undefined)[]): ErrorGroup[] {
  return groups.flatMap((found, index): ErrorGroup[] => {
    const error = errors[index];
    // The sample was removed or retried meanwhile. The next call finds what is left of its group.
    return error?.group === found.group ? [{ ...found, name: error.name, message: error.message }] : [];
  });
}

function addedUp(parts: readonly Counted[]): CountedGroup {
  const latest = parts.reduce((best, part) => (part.lastSeenAt > best.lastSeenAt ? part : best));
  return {
    group: latest.group,
    count: parts.reduce((sum, { count }) => sum + count, 0),
    types: [...new Set(parts.map(({ type }) => type))].sort().slice(0, MAX_TYPES),
    firstSeenAt: Math.min(...parts.map(({ firstSeenAt }) => firstSeenAt)),
    lastSeenAt: latest.lastSeenAt,
    sampleJobId: latest.sampleJobId,
  };
}
