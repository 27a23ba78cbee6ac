import { BULK_QUEUE, MAX_OPERATIONS_PAGE } from "../core/bulk.ts";
import { isDeliveryQueue, queueBeside } from "../core/delivery.ts";
import { A_TIME } from "../core/time-words.ts";
import { readGroup } from "../core/error-group.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { type Facets, FIELD_VALUE_RULE, MAX_FACETS, readField, readFieldValue } from "../core/facets.ts";
import { DEFAULT_PAGE, MAX_CURSOR_LENGTH, MAX_PAGE, TIME_FIELDS } from "../core/filter.ts";
import { FLOW_QUEUE } from "../core/flow.ts";
import { FLOW_FACET } from "../core/flow-parent.ts";
import { isId } from "../lib/id.ts";
import { INTERNAL_MARK, INTERNAL_TYPES, isInternalQueue, isInternalType } from "../core/internal.ts";
import { readSort } from "../core/list-order.ts";
import { levelOf, MAX_PRIORITY, MIN_PRIORITY, PRIORITY_LEVELS, type PriorityLevel } from "../core/job.ts";
import { JOB_OPTIONS, MAX_TAG_LENGTH, TAG_RULE } from "../core/job-options.ts";
import { demandInteger, isName, NAME_RULE, readInteger, readTime } from "../core/read-fields.ts";
import { readLimitKey } from "../core/read-text.ts";
import { readSearch } from "../core/search.ts";
import { readStatusFilter } from "../core/status-filter.ts";
import type { ListQuery } from "../store/store.ts";
import { readOptions } from "./refusals.ts";
import type { FieldFilter, FieldQuery } from "./where.ts";

const FILTER_FIELDS = ["type", "queue", "internal", "priority", "tag", "limitKey", "flow", "where", "group", "q", ...TIME_FIELDS] as const;
const PAGE_FIELDS = ["limit", "cursor"] as const;

/** Reads a filter with its page, as list takes it. Throws at the first bad or unknown field. */
export function readListQuery(input: unknown): FieldQuery {
  const query = readOptions(input, "a list of jobs", ["status", ...FILTER_FIELDS, ...PAGE_FIELDS, "sort"]);
  return { ...readFields(query), ...readPage(query), status: readStatusFilter(query.status), sort: readSort(query.sort) };
}

/** Reads a filter with its page, for dead letters: unless another order is asked for, the latest death comes first. */
export function readDeadQuery(input: unknown): FieldQuery {
  const query = readOptions(input, "a list of dead letters", [...FILTER_FIELDS, ...PAGE_FIELDS, "sort"]);
  return { ...readFields(query), ...readPage(query), status: ["dead"], sort: readSort(query.sort) ?? "state" };
}

export function readDeadFilter(input: unknown): FieldQuery {
  const filter = readOptions(input, "a filter of dead letters", FILTER_FIELDS);
  return { ...readFields(filter), status: ["dead"], sort: "state", limit: MAX_PAGE };
}

export function readJobFilter(input: unknown): FieldFilter {
  const filter = readOptions(input, "a filter of jobs", ["status", ...FILTER_FIELDS]);
  return { ...readFields(filter), status: readStatusFilter(filter.status) };
}

/** The statuses whose jobs are counted by the values of a facet. */
const COUNTED_BY_VALUE = ["dead", "failed"] as const;

/** Reads a question for the values of a facet. */
export function readFacetQuery(
  field: unknown,
  input: unknown,
): Omit<FieldFilter, "status"> & { readonly status: ("dead" | "failed")[]; readonly field: string } {
  const { status = COUNTED_BY_VALUE, ...filter } = readJobFilter(input);
  const wanted = COUNTED_BY_VALUE.filter((one) => status.includes(one));
  if (wanted.length !== status.length) throw invalid("status", "dead, failed or both", status.join(", "));
  return { ...filter, status: wanted, field: readField(field, "field") };
}

/** Reads which page of bulk operations is wanted. */
export function readBulkPage(input: unknown): Pick<ListQuery, "limit" | "cursor"> {
  const { limit = MAX_OPERATIONS_PAGE, cursor } = readOptions(input, "a list of bulk operations", PAGE_FIELDS);
  return { limit: demandInteger(limit, "limit", 1, MAX_OPERATIONS_PAGE), cursor: readCursor(cursor) };
}

type Fields = { readonly [K in (typeof FILTER_FIELDS)[number]]?: unknown };

function readFields(filter: Fields): Omit<FieldFilter, "status"> {
  const internal = optional(filter.internal, readInternal);
  return {
    type: optional(filter.type, internal === true ? readAnyType : readUsersType),
    queue: optional(filter.queue, internal === true ? readAnyQueue : readUsersQueue),
    internal,
    priority: optional(filter.priority, readPriorityFilter),
    tag: optional(filter.tag, readTag),
    limitKey: optional(filter.limitKey, (key) => readLimitKey(key)),
    // The index of facets has the members of each flow.
    facets: optional(filter.flow, (flow) => ({ [FLOW_FACET]: readFlowId(flow) })),
    where: optional(filter.where, readWhere),
    group: optional(filter.group, readGroup),
    q: optional(filter.q, readSearch),
    from: readMoment(filter.from, "from"),
    to: readMoment(filter.to, "to"),
    endedFrom: readMoment(filter.endedFrom, "endedFrom"),
    endedTo: readMoment(filter.endedTo, "endedTo"),
  };
}

function readFlowId(flow: unknown): string {
  if (!isId(flow)) throw invalid("flow", "the id of a flow, a UUIDv7 in lower case", flow);
  return flow;
}

function readPage({ limit, cursor }: { readonly limit?: unknown; readonly cursor?: unknown }): Pick<ListQuery, "limit" | "cursor"> {
  return { limit: readLimit(limit), cursor: readCursor(cursor) };
}

function optional<Value>(input: unknown, read: (input: unknown) => Value): Value | undefined {
  return input === undefined || input === null ? undefined : read(input);
}

/** Reads options that have only `internal`: whether to include what is internal. Throws `invalid_input`. */
export function readInternalOption(options: unknown, of: string): boolean {
  return optional(readOptions(options, `the options of ${of}`, ["internal"]).internal, readInternal) ?? false;
}

function readInternal(input: unknown): boolean {
  if (typeof input !== "boolean") throw invalid("internal", "true or false", input);
  return input;
}

function readAnyType(type: unknown): string {
  if (!isName(type)) throw invalid("type", NAME_RULE, type);
  return type;
}

function readUsersType(type: unknown): string {
  const name = readAnyType(type);
  if (isInternalType(name)) throw isInternal("type", `types that begin with ${INTERNAL_TYPES}`);
  return name;
}

function isInternal(field: string, what: string): MillraceError {
  return new MillraceError("invalid_input", `${what} are internal: add internal=true to list them`, { field });
}

function readAnyQueue(queue: unknown): string {
  if (isName(queue) || queue === BULK_QUEUE || queue === FLOW_QUEUE) return queue;
  const beside = typeof queue === "string" && isDeliveryQueue(queue) ? queueBeside(queue) : null;
  if (isName(beside) || beside === FLOW_QUEUE) return queue as string;
  throw invalid("queue", NAME_RULE, queue);
}

function readUsersQueue(queue: unknown): string {
  const name = readAnyQueue(queue);
  if (isInternalQueue(name)) throw isInternal("queue", `queues with "${INTERNAL_MARK}" in their name`);
  return name;
}

/** A level stands for the whole range of its priorities. */
function readPriorityFilter(input: unknown): { min: number; max: number } {
  if (typeof input === "string" && Object.hasOwn(PRIORITY_LEVELS, input)) return rangeOf(input as PriorityLevel);
  const exact = readInteger(input, MIN_PRIORITY, MAX_PRIORITY);
  if (exact === undefined) throw invalid("priority", JOB_OPTIONS.priority.mustBe, input);
  return { min: exact, max: exact };
}

function rangeOf(level: PriorityLevel): { min: number; max: number } {
  const all = Array.from({ length: MAX_PRIORITY - MIN_PRIORITY + 1 }, (_, index) => MIN_PRIORITY + index);
  const inside = all.filter((priority) => levelOf(priority) === level);
  return { min: inside[0]!, max: inside.at(-1)! };
}

function readTag(input: unknown): string {
  if (typeof input !== "string" || input === "" || input.length > MAX_TAG_LENGTH) throw invalid("tag", TAG_RULE, input);
  return input;
}

/** Reads payload fields and their values. */
function readWhere(input: unknown): Facets | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input)) throw invalid("where", "an object of payload fields", input);
  const fields: [string, unknown][] = Object.entries(input);
  if (fields.length > MAX_FACETS) throw invalid("where", `an object of at most ${MAX_FACETS} payload fields`, fields.length);
  const read = fields.map(([field, value]): [string, string] => {
    readField(field, "where");
    const text = readFieldValue(value);
    if (text === undefined) throw invalid(`where.${field}`, FIELD_VALUE_RULE, value);
    return [field, text];
  });
  return read.length === 0 ? undefined : Object.fromEntries(read);
}

/** Reads a point in time; undefined if it is absent. Throws `invalid_input`. */
export function readMoment(input: unknown, field: string): number | undefined {
  if (input === undefined || input === null) return undefined;
  const at = readTime(input);
  if (at === undefined) throw invalid(field, `${A_TIME}, from the year 2000 on`, input);
  return at;
}

function readLimit(input: unknown = DEFAULT_PAGE): number {
  return demandInteger(input, "limit", 1, MAX_PAGE);
}

/** Only the store knows what is in a cursor; here only its length is checked. */
export function readCursor(input: unknown): string | undefined {
  if (input === undefined || input === null) return undefined;
  if (typeof input === "string" && input.length <= MAX_CURSOR_LENGTH) return input;
  throw new MillraceError("invalid_cursor", "cursor must be one that this list returned", { field: "cursor" });
}
