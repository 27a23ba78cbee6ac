import { MillraceError } from "../../core/errors.ts";
import type { JobSummaryRecord } from "../../core/job.ts";
import { type ListQuery, MAX_CANDIDATES } from "../store.ts";
import { encodeText, numbers, type Row, stateNumber } from "./codec.ts";
import { type Desk, readSummaries } from "./desk.ts";

/** The place of a job in a list: when it was created, and its sequence among those of the same moment. */
type Place = readonly [createdAt: number, seq: number];

/**
 * Lists newest first. Two ways lead there: jobs of statuses that few have are picked from the places where these stand; otherwise one walks
 * down from the newest and leaves out what does not match. Both look at MAX_CANDIDATES jobs at most.
 */
export async function listJobs(desk: Desk, query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }> {
  const after = query.cursor === undefined ? null : decodeCursor(query.cursor);
  const states = query.status === undefined ? null : numbers(query.status.map(stateNumber));
  const range = [after?.[0] ?? null, after?.[1] ?? null, query.from ?? null, query.to ?? null];
  const tag = query.tag === undefined ? null : encodeText(query.tag);
  const { min = null, max = null } = query.priority ?? {};
  const values = [...range, states, query.type ?? null, query.queue ?? null, min, max, tag, MAX_CANDIDATES, query.limit];

  const areFew = states !== null && (await countOf(desk, states, query.queue)) <= MAX_CANDIDATES;
  const rows = await desk.connections.call(areFew ? desk.sql.pick : desk.sql.walk, values);
  const jobs = await readSummaries(desk, rows, 1);
  if (rows.length === query.limit) return { jobs, cursor: encodeCursor([jobs.at(-1)!.createdAt, rows.at(-1)![0] as number]) };
  return { jobs, cursor: areFew ? null : await lastLookedAt(desk, range) };
}

async function countOf(desk: Desk, states: string, queue: string | undefined): Promise<number> {
  const [row] = await desk.connections.call(desk.sql.countStates, [states, queue ?? null]);
  return row![0] as number;
}

/** Where a walk that found too little has to go on; null when it came to the end. */
async function lastLookedAt(desk: Desk, range: readonly unknown[]): Promise<string | null> {
  const [row] = (await desk.connections.call(desk.sql.lastCandidate, [...range, MAX_CANDIDATES])) as (Row | undefined)[];
  return row === undefined ? null : encodeCursor([row[0] as number, row[1] as number]);
}

function encodeCursor([createdAt, seq]: Place): string {
  return `p${createdAt.toString(36)}.${seq.toString(36)}`;
}

function decodeCursor(cursor: string): Place {
  const found = /^p(-?[0-9a-z]{1,11})\.([0-9a-z]{1,11})$/.exec(cursor);
  const place = found === null ? null : ([Number.parseInt(found[1]!, 36), Number.parseInt(found[2]!, 36)] as const);
  if (place === null || !place.every(Number.isSafeInteger)) {
    throw new MillraceError("invalid_cursor", "cursor must be one that list gave out", { field: "cursor" });
  }
  return place;
}
