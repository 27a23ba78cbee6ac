/**
 * JOBS BY FIELDS OF THEIR PAYLOAD. A field that the wanted queue declares as a facet is looked up in the store's index. Any other field is
 * searched like a text: the store finds jobs that contain a part of the value, and the payload of each is checked here.
 *
 * Without a queue, jobs that have the fields as facets come first, from the indexes. Then the queues that do not declare all of the fields
 * are searched, if they have jobs. (Merged by creation, a page would have to wait until the search has come as far as the oldest job that an
 * index found.) Its cursors say how far it is, so that it goes on like that even if a queue is configured meanwhile: each job is shown once.
 */
import { declaredByQueue } from "../core/declared.ts";
import { type Facets, fieldIn, hasFacets } from "../core/facets.ts";
import { type Filter, leavesOut } from "../core/filter.ts";
import type { JobRecord } from "../core/job.ts";
import { searchFor } from "../core/search.ts";
import type { ListQuery, Store } from "../store/store.ts";

/** A filter that may name payload fields. */
export type FieldFilter = Omit<Filter, "where"> & { readonly where?: Facets | undefined };
export type FieldQuery = Omit<ListQuery, "where"> & { readonly where?: Facets | undefined };

/** A part of what is wanted, as one question to the store. */
export interface Part<Query> {
  readonly query: Omit<Query, "where">;
  /** Fields that the store does not check. */
  readonly fields: Facets | null;
  /** Without the jobs that have these facets: an earlier part has them. */
  readonly without: Facets | null;
  /** What its cursors begin with. */
  readonly mark: Mark;
}

/** Of a list without a queue that begins with the indexes: whether a cursor is in the indexes, or in the other queues. */
const IN_INDEXES = "i.";
const IN_OTHERS = "o.";
type Mark = "" | typeof IN_INDEXES | typeof IN_OTHERS;

/** What is wanted: the first part, which begins at the cursor, and what follows it. */
export type Parts<Query> = readonly [Part<Query>, ...Part<Query>[]];

/** Turns fields that the wanted queue declares into facets; without a queue, those that any queue declares. */
export async function resolveWhere<Query extends FieldFilter & Pick<FieldQuery, "cursor">>(
  store: Pick<Store, "queues">,
  given: Query,
): Promise<Parts<Query>> {
  const { where, ...query } = given;
  if (where === undefined) return [partOf(query)];
  // The members of a flow: its index is walked, and their payloads are checked.
  if (given.facets !== undefined) return [partOf(query, { fields: where })];
  const queues = await store.queues();
  const declared = declaredByQueue(queues);
  const fieldsOf = (queue: string): readonly string[] => declared.get(queue)?.fields ?? [];
  if (given.queue !== undefined) {
    const ofQueue = fieldsOf(given.queue);
    const [facets, fields] = [true, false].map((isDeclared) =>
      Object.entries(where).filter(([field]) => ofQueue.includes(field) === isDeclared),
    ) as [[string, string][], [string, string][]];
    const found = facets.length === 0 ? query : { ...query, facets: Object.fromEntries(facets) };
    return [partOf(found, { fields: fields.length === 0 ? null : Object.fromEntries(fields) })];
  }
  const { mark, cursor } = readMark(given.cursor);
  const wanted = queues.filter(({ name }) => !leavesOut(given, name));
  const isDeclaring = (queue: string): boolean => Object.keys(where).every((field) => fieldsOf(queue).includes(field));
  const declaring = new Set(wanted.map(({ name }) => name).filter(isDeclaring));
  const begunWithIndexes = given.cursor === undefined ? declaring.size > 0 : mark !== "";
  if (!begunWithIndexes) return [partOf(query, { fields: where })];
  const ofOthers = { fields: where, without: where, mark: IN_OTHERS } as const;
  const inOthers = (from: string | undefined): Part<Query> => partOf({ ...query, exceptQueues: declaring, cursor: from }, ofOthers);
  if (mark === IN_OTHERS) return [inOthers(cursor)];
  const inIndexes: Part<Query> = partOf({ ...query, facets: where, cursor }, { mark: IN_INDEXES });
  const areOthers = wanted.some(({ name, counts }) => !declaring.has(name) && counts.some(({ count }) => count > 0));
  return areOthers ? [inIndexes, inOthers(undefined)] : [inIndexes];
}

function partOf<Query>(query: Omit<Query, "where">, rest: Partial<Omit<Part<Query>, "query">> = {}): Part<Query> {
  return { query, fields: null, without: null, mark: "", ...rest };
}

/** A mark alone is the start of its part. */
function readMark(given: string | undefined): { mark: Mark; cursor: string | undefined } {
  const mark = [IN_INDEXES, IN_OTHERS].find((one) => given?.startsWith(one) === true) as Mark | undefined;
  return mark === undefined ? { mark: "", cursor: given } : { mark, cursor: given!.slice(mark.length) || undefined };
}

/** How many jobs are listed at once, and read with their payload at once. */
const PAGE = 500;
const READ_AT_ONCE = 50;
/** One call lists so often at most, because each list may look at thousands of jobs, and reads about so many characters of payloads. */
const MAX_PAGES = 4;
/** Pages of which no job had to be read cost little, but not nothing. */
const MAX_LISTS = 20;
const MOST_READ = 16_000_000;

/** Lists the jobs of a part with fields. A page that is not full may have a cursor, as in every search. */
export async function listWithFields(
  store: Pick<Store, "find" | "list">,
  part: Part<ListQuery> & { readonly fields: Facets },
): Promise<{ jobs: JobRecord[]; cursor: string | null }> {
  const { query, fields, without } = part;
  const isMeant = fieldsMatcher(part, query.q);
  const jobs: JobRecord[] = [];
  // The store searches for one text. The longer one is in fewer jobs, as a rule, and each that has it is read.
  const q = longest([query.q ?? "", textIn(fields) ?? ""]);
  let { cursor } = query;
  for (let lists = 1, pages = 0, read = 0; ; lists++) {
    const limit = Math.min(PAGE, query.limit - jobs.length);
    const page = await store.list({ ...query, q, limit, cursor });
    const unread = without === null ? page.jobs : page.jobs.filter(({ facets }) => !hasFacets(facets, without));
    if (unread.length > 0) pages++;
    for (let at = 0; at < unread.length; at += READ_AT_ONCE) {
      for (const record of await store.find(unread.slice(at, at + READ_AT_ONCE).map(({ id }) => id))) {
        if (record === null) continue;
        read += record.payload.length;
        if (isMeant(record)) jobs.push(record);
      }
    }
    const isFull = jobs.length === query.limit || page.jobs.length < limit;
    const isEnough = pages === MAX_PAGES || lists === MAX_LISTS || read > MOST_READ;
    if (page.cursor === null || isFull || isEnough) return { jobs, cursor: page.cursor };
    cursor = page.cursor;
  }
}

/** Whether a job of a part has its fields, and the search text if there is one. */
export function fieldsMatcher({ fields, without }: Part<unknown>, q: string | undefined): (job: JobRecord) => boolean {
  const wanted = Object.entries(fields ?? {});
  const search = q === undefined ? null : searchFor(q);
  return (job) =>
    (without === null || !hasFacets(job.facets, without)) &&
    wanted.every(([field, value]) => fieldIn(job.payload, field) === value) &&
    (search === null || search.isInSummary(job) || search.isInPayload(job.payload));
}

/**
 * A text that every payload with these fields contains. A value that can only be a string is searched for with its quotes: otherwise c3 would
 * also find c30 to c39, and each of these jobs would be read. Else it is the longest part of a value, or of a name, that no one writes with
 * escapes. Undefined if there is none.
 */
function textIn(fields: Facets): string | undefined {
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
