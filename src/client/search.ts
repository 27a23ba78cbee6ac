import { type Filter, matcherOf } from "../core/filter.ts";
import type { JobRecord, JobSummaryRecord } from "../core/job.ts";
import { isId } from "../lib/id.ts";
import type { ListQuery, Store } from "../store/store.ts";
import { fieldsMatcher, type FieldQuery, listWithFields, type Resolved, resolveWhere } from "./where.ts";

type Found = Awaited<ReturnType<Store["list"]>>;
type Searched = Pick<Store, "find" | "list" | "queues">;

/**
 * Lists jobs. If the search text is a whole id, that job is found at once, however many jobs there are. If there is no such job, or the other
 * filters exclude it, the id is an ordinary text that payloads may contain.
 */
export async function listJobs(store: Searched, query: FieldQuery): Promise<Found> {
  const resolved = await resolveWhere(store, query);
  const job = query.cursor === undefined ? await findNamed(store, resolved) : null;
  return job === null ? listResolved(store, resolved) : { jobs: [job], cursor: null };
}

/**
 * Lists jobs in order to change them. Here a whole id means only that job: a repeated removal must not reach jobs whose payloads contain the id.
 */
export async function listToChange(store: Searched, query: FieldQuery): Promise<Found> {
  const resolved = await resolveWhere(store, query);
  if (!isId(query.q?.toLowerCase())) return listResolved(store, resolved);
  const job = query.cursor === undefined ? await findNamed(store, resolved) : null;
  return { jobs: job === null ? [] : [job], cursor: null };
}

/** Lists what a resolved query asks for. */
async function listResolved(store: Searched, { query, fields }: Resolved<ListQuery>): Promise<Found> {
  if (fields === null) return store.list(query);
  const { jobs, cursor } = await listWithFields(store, query, fields);
  return { jobs: jobs.map(summaryOf), cursor };
}

/** The job whose whole id is searched for, if the rest of the filter matches. */
export async function findNamed(store: Pick<Store, "find">, { query, fields }: Resolved<Filter>): Promise<JobSummaryRecord | null> {
  const id = query.q?.toLowerCase();
  if (!isId(id)) return null;
  const [record] = await store.find([id]);
  if (record === null || record === undefined || !matcherOf(query)(record, () => false)) return null;
  return fields === null || fieldsMatcher(fields, undefined)(record) ? summaryOf(record) : null;
}

/** Every job that a query finds, up to `most`: stops early at a page that is not full but has a cursor, which has looked at enough. */
export async function listAll(
  store: Searched,
  query: FieldQuery,
  most: number,
  pageSize: number,
): Promise<{ jobs: JobSummaryRecord[]; isCapped: boolean }> {
  const jobs: JobSummaryRecord[] = [];
  for (let cursor: string | undefined; ;) {
    const page: Found = await listJobs(store, { ...query, limit: pageSize, cursor });
    jobs.push(...page.jobs);
    if (page.cursor === null) return { jobs, isCapped: false };
    if (page.jobs.length < pageSize || jobs.length >= most) return { jobs, isCapped: true };
    cursor = page.cursor;
  }
}

/** A record as lists return it, without payload and result. */
function summaryOf({ payload: _payload, result: _result, ...summary }: JobRecord): JobSummaryRecord {
  return summary.error === null ? summary : { ...summary, error: { ...summary.error, stack: null } };
}
