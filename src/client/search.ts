import { type Filter, MAX_CANDIDATES, MAX_PAGE, matcherOf } from "../core/filter.ts";
import type { JobRecord, JobSummaryRecord } from "../core/job.ts";
import { isId } from "../lib/id.ts";
import type { ListQuery, Store } from "../store/store.ts";
import { fieldsMatcher, type FieldQuery, listWithFields, type Part, type Parts, resolveWhere } from "./where.ts";

type Found = Awaited<ReturnType<Store["list"]>>;
type Reads = Pick<Store, "find" | "list">;
type Searched = Reads & Pick<Store, "queues">;

/**
 * Lists jobs. If the search text is a whole id, that job is found at once, however many jobs there are. If there is no such job, or the other
 * filters exclude it, the id is an ordinary text that payloads may contain.
 */
export async function listJobs(store: Searched, query: FieldQuery): Promise<Found> {
  const parts = await resolveWhere(store, query);
  const job = query.cursor === undefined ? await findNamed(store, parts) : null;
  return job === null ? listParts(store, parts, query.limit) : { jobs: [job], cursor: null };
}

/**
 * Lists jobs in order to change them. Here a whole id means only that job: a repeated removal must not reach jobs whose payloads contain the id.
 */
export async function listToChange(store: Searched, query: FieldQuery): Promise<Found> {
  const parts = await resolveWhere(store, query);
  if (!isId(query.q?.toLowerCase())) return listParts(store, parts, query.limit);
  const job = query.cursor === undefined ? await findNamed(store, parts) : null;
  return { jobs: job === null ? [] : [job], cursor: null };
}

/** Lists the parts one after the other, until the page is full or one has looked at enough. */
async function listParts(store: Reads, [part, ...others]: Parts<ListQuery>, limit: number): Promise<Found> {
  const { jobs, cursor } = await listPart(store, { ...part, query: { ...part.query, limit } });
  if (cursor !== null) return { jobs, cursor: part.mark + cursor };
  const [next, ...rest] = others;
  if (next === undefined) return { jobs, cursor: null };
  if (jobs.length === limit) return { jobs, cursor: next.mark };
  const more = await listParts(store, [next, ...rest], limit - jobs.length);
  return { jobs: [...jobs, ...more.jobs], cursor: more.cursor };
}

async function listPart(store: Reads, part: Part<ListQuery>): Promise<Found> {
  const { query, fields } = part;
  if (fields === null) return store.list(query);
  const { jobs, cursor } = await listWithFields(store, { ...part, fields });
  return { jobs: jobs.map(summaryOf), cursor };
}

/** The job whose whole id is searched for, if the rest of the filter matches. */
export async function findNamed(store: Pick<Store, "find">, parts: Parts<Filter>): Promise<JobSummaryRecord | null> {
  const id = parts[0].query.q?.toLowerCase();
  if (!isId(id)) return null;
  const [record] = await store.find([id]);
  if (record === null || record === undefined) return null;
  const isIn = (part: Part<Filter>): boolean => matcherOf(part.query)(record, () => false) && fieldsMatcher(part, undefined)(record);
  return parts.some(isIn) ? summaryOf(record) : null;
}

/**
 * Every job of the parts, up to about MAX_CANDIDATES: stops early at a page that is not full but has a cursor, which has looked at enough.
 * Takes what was resolved, so that all pages agree on which queues declare a field.
 */
export async function listAll(store: Reads, parts: Parts<Listed>): Promise<{ jobs: JobSummaryRecord[]; isCapped: boolean }> {
  const named = await findNamed(store, parts);
  if (named !== null) return { jobs: [named], isCapped: false };
  const jobs: JobSummaryRecord[] = [];
  for (const part of parts) {
    for (let cursor: string | null | undefined; cursor !== null;) {
      if (jobs.length >= MAX_CANDIDATES) return { jobs, isCapped: true };
      const page: Found = await listPart(store, { ...part, query: { ...part.query, limit: MAX_PAGE, cursor } });
      jobs.push(...page.jobs);
      if (page.cursor !== null && page.jobs.length < MAX_PAGE) return { jobs, isCapped: true };
      cursor = page.cursor;
    }
  }
  return { jobs, isCapped: false };
}

type Listed = Omit<ListQuery, "limit" | "cursor">;

/** A record as lists return it, without payload and result. */
function summaryOf({ payload: _payload, result: _result, ...summary }: JobRecord): JobSummaryRecord {
  return summary.error === null ? summary : { ...summary, error: { ...summary.error, stack: null } };
}
