import { type Filter, matcherOf } from "../core/filter.ts";
import type { JobRecord, JobSummaryRecord } from "../core/job.ts";
import { isId } from "../lib/id.ts";
import type { ListQuery, Store } from "../store/store.ts";

/**
 * Lists jobs. If the search text is a whole id, that job is found at once, however many jobs there are. If there is no such job, or the other
 * filters exclude it, the id is an ordinary text that payloads may contain.
 */
export async function listJobs(store: Pick<Store, "find" | "list">, query: ListQuery): ReturnType<Store["list"]> {
  const job = query.cursor === undefined ? await findNamed(store, query) : null;
  return job === null ? store.list(query) : { jobs: [job], cursor: null };
}

/**
 * Lists jobs in order to change them. Here a whole id means only that job: a repeated removal must not reach jobs whose payloads contain the id.
 */
export async function listToChange(store: Pick<Store, "find" | "list">, query: ListQuery): ReturnType<Store["list"]> {
  if (!isId(query.q?.toLowerCase())) return store.list(query);
  const job = query.cursor === undefined ? await findNamed(store, query) : null;
  return { jobs: job === null ? [] : [job], cursor: null };
}

/** The job whose whole id is searched for, if the rest of the filter matches. */
export async function findNamed(store: Pick<Store, "find">, query: Filter): Promise<JobSummaryRecord | null> {
  const id = query.q?.toLowerCase();
  if (!isId(id)) return null;
  const [record] = await store.find([id]);
  return record !== null && record !== undefined && matcherOf(query)(record, () => false) ? summaryOf(record) : null;
}

/** A record as lists return it, without payload and result. */
function summaryOf({ payload: _payload, result: _result, ...summary }: JobRecord): JobSummaryRecord {
  return summary.error === null ? summary : { ...summary, error: { ...summary.error, stack: null } };
}
