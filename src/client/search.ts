import { type Filter, matcherOf } from "../core/filter.ts";
import type { JobRecord, JobSummaryRecord } from "../core/job.ts";
import { isId } from "../lib/id.ts";
import type { ListQuery, Store } from "../store/store.ts";

/**
 * Lists jobs. A whole id that is searched for names its job, which is then found at once, wherever it stands among all others. If there is no
 * such job, or none that the other filters mean, the id is a text like any other, that payloads may hold.
 */
export async function listJobs(store: Pick<Store, "find" | "list">, query: ListQuery): ReturnType<Store["list"]> {
  const job = query.cursor === undefined ? await findNamed(store, query) : null;
  return job === null ? store.list(query) : { jobs: [job], cursor: null };
}

/**
 * Lists jobs that will be changed. Here a whole id means its job and no other: whoever repeats a removal must not reach those whose payloads
 * hold that id.
 */
export async function listToChange(store: Pick<Store, "find" | "list">, query: ListQuery): ReturnType<Store["list"]> {
  if (!isId(query.q?.toLowerCase())) return store.list(query);
  const job = query.cursor === undefined ? await findNamed(store, query) : null;
  return { jobs: job === null ? [] : [job], cursor: null };
}

/** The job whose whole id is searched for, if the rest of the filter means it. */
export async function findNamed(store: Pick<Store, "find">, query: Filter): Promise<JobSummaryRecord | null> {
  const id = query.q?.toLowerCase();
  if (!isId(id)) return null;
  const [record] = await store.find([id]);
  return record !== null && record !== undefined && matcherOf(query)(record, () => false) ? summaryOf(record) : null;
}

/** A record without its bodies, as lists give it. */
function summaryOf({ payload: _payload, result: _result, ...summary }: JobRecord): JobSummaryRecord {
  return summary.error === null ? summary : { ...summary, error: { ...summary.error, stack: null } };
}
