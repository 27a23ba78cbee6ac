/**
 * JOBS BY FIELDS OF THEIR PAYLOAD. A field that the wanted queue declares as a facet is looked up in the store's index. Any other field is
 * searched like a text: the store finds jobs that contain a part of the value, and the payload of each is checked here.
 */
import { declaredByQueue } from "../core/declared.ts";
import { type Facets, fieldIn } from "../core/facets.ts";
import type { Filter } from "../core/filter.ts";
import type { JobRecord } from "../core/job.ts";
import { searchFor } from "../core/search.ts";
import type { ListQuery, Store } from "../store/store.ts";

/** A filter that may name payload fields. */
export type FieldFilter = Omit<Filter, "where"> & { readonly where?: Facets | undefined };
export type FieldQuery = Omit<ListQuery, "where"> & { readonly where?: Facets | undefined };

/** A query as the store takes it, and the fields that are left to check. */
export interface Resolved<Query> {
  readonly query: Omit<Query, "where">;
  readonly fields: Facets | null;
}

/** Turns fields that the wanted queue declares into facets. */
export async function resolveWhere<Query extends FieldFilter>(store: Pick<Store, "queues">, given: Query): Promise<Resolved<Query>> {
  const { where, ...query } = given;
  if (where === undefined) return { query: query, fields: null };
  const declared = given.queue === undefined ? [] : (declaredByQueue(await store.queues()).get(given.queue)?.fields ?? []);
  const [facets, fields] = [true, false].map((isDeclared) =>
    Object.entries(where).filter(([field]) => declared.includes(field) === isDeclared),
  ) as [[string, string][], [string, string][]];
  return {
    query: { ...query, ...(facets.length === 0 ? {} : { facets: Object.fromEntries(facets) }) },
    fields: fields.length === 0 ? null : Object.fromEntries(fields),
  };
}

/** How many jobs are listed at once, and read with their payload at once. */
const PAGE = 500;
const READ_AT_ONCE = 50;
/** One call lists so often at most, because each list may look at thousands of jobs, and reads about so many characters of payloads. */
const MAX_PAGES = 4;
const MOST_READ = 16_000_000;

/** Lists jobs whose payload has these fields. A page that is not full may have a cursor, as in every search. */
export async function listWithFields(
  store: Pick<Store, "find" | "list">,
  query: ListQuery,
  fields: Facets,
): Promise<{ jobs: JobRecord[]; cursor: string | null }> {
  const jobs: JobRecord[] = [];
  const isMeant = fieldsMatcher(fields, query.q);
  // The store searches for one text. The longer one is in fewer jobs, as a rule, and each that has it is read.
  const q = longest([query.q ?? "", partOf(fields) ?? ""]);
  let { cursor } = query;
  for (let pages = 1, read = 0; ; pages++) {
    const limit = Math.min(PAGE, query.limit - jobs.length);
    const page = await store.list({ ...query, q, limit, cursor });
    for (let at = 0; at < page.jobs.length; at += READ_AT_ONCE) {
      for (const record of await store.find(page.jobs.slice(at, at + READ_AT_ONCE).map(({ id }) => id))) {
        if (record === null) continue;
        read += record.payload.length;
        if (isMeant(record)) jobs.push(record);
      }
    }
    const isOver = jobs.length === query.limit || page.jobs.length < limit || pages === MAX_PAGES || read > MOST_READ;
    if (page.cursor === null || isOver) return { jobs, cursor: page.cursor };
    cursor = page.cursor;
  }
}

/** Whether a job has these fields, and the search text if there is one. */
export function fieldsMatcher(fields: Facets, q: string | undefined): (job: JobRecord) => boolean {
  const wanted = Object.entries(fields);
  const search = q === undefined ? null : searchFor(q);
  return (job) =>
    wanted.every(([field, value]) => fieldIn(job.payload, field) === value) &&
    (search === null || search.isInSummary(job) || search.isInPayload(job.payload));
}

/**
 * A text that every payload with these fields contains. A value that can only be a string is searched for with its quotes: otherwise c3 would
 * also find c30 to c39, and each of these jobs would be read. Else it is the longest part of a value, or of a name, that no one writes with
 * escapes. Undefined if there is none.
 */
function partOf(fields: Facets): string | undefined {
  const values = Object.values(fields);
  return (
    longest(values.filter(isOnlyString).map((value) => `"${value}"`)) ??
    longest(values.flatMap(partsOf)) ??
    longest(Object.keys(fields).flatMap((field) => field.split(".").flatMap(partsOf)))
  );
}

/** Whether JSON has a value only in quotes, and no one writes it with escapes. */
function isOnlyString(value: string): boolean {
  return partsOf(value)[0] === value && value !== "true" && value !== "false" && Number.isNaN(Number(value));
}

function partsOf(text: string): string[] {
  return text.match(/[0-9a-z _-]+/gi) ?? [];
}

function longest(texts: readonly string[]): string | undefined {
  return texts.reduce<string | undefined>((most, text) => (text.length > (most?.length ?? 0) ? text : most), undefined);
}
