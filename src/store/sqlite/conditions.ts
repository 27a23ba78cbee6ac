/**
 * The part of a filter that the database checks: handing a row over costs twenty times as much as looking at it there. Texts that are
 * stored as JSON may let too much through, so the reader checks those rows again.
 */
import { type Filter, statusesOf } from "../../core/filter.ts";
import { type Search, searchFor, SEARCHED_PAYLOAD_BYTES } from "../../core/search.ts";
import { STATE } from "../numbers.ts";
import { GROUP_AT, GROUP_LENGTH } from "../stored-error.ts";
import type { Catalog } from "./catalog.ts";
import { keyedLane } from "./lane-numbers.ts";

export interface Conditions {
  /** For a `where`. */
  readonly text: string;
  readonly values: readonly (string | number)[];
  /** Whether every row that passes matches. */
  readonly isExact: boolean;
  readonly search: Search | null;
}

/** SQLite reads a whole value to look at its beginning, so a larger payload is searched on its own. */
export const LARGE_PAYLOAD_BYTES: number = 4 * SEARCHED_PAYLOAD_BYTES;

export const ERROR_GROUP: string = `substr(error, ${GROUP_AT}, ${GROUP_LENGTH})`;

/** Where `extra` has the value of a facet. A field has no quotes. */
export const facetPath = (field: string): string => `$.facets."${field}"`;

/** In: text. Whether the searched part of a payload, measured in bytes, has it. */
export const IN_PAYLOAD: string = `instr(lower(substr(cast(payload as blob), 1, ${SEARCHED_PAYLOAD_BYTES})), ?) > 0`;
/** In: text. The same; null for a large payload. */
export const IN_SMALL_PAYLOAD: string = `(case when octet_length(payload) <= ${LARGE_PAYLOAD_BYTES} then ${IN_PAYLOAD} end)`;

/** The conditions of a filter, except times of creation: these are a range of sequences. `leftOut` are queues to skip. */
export function conditionsOf(catalog: Catalog, filter: Filter, leftOut: readonly number[]): Conditions {
  const { type, queue, priority, tag, limitKey, facets, group, q, endedFrom, endedTo } = filter;
  const texts = ["true"];
  const values: (string | number)[] = [];
  const demand = (text: string, ...given: (string | number)[]): void => {
    texts.push(text);
    values.push(...given);
  };
  const candidate = isCandidate(filter, leftOut);
  demand(candidate.text, ...candidate.values);
  if (queue !== undefined) demand("queue = ?", catalog.findQueue(queue)?.id ?? 0);
  if (type !== undefined)
    demand(
      IN_LANES,
      lanesWith(catalog, (name) => name === type),
    );
  if (priority !== undefined) demand("priority between ? and ?", priority.min, priority.max);
  if (endedFrom !== undefined) demand("ended_at >= ?", endedFrom);
  if (endedTo !== undefined) demand("ended_at < ?", endedTo);
  if (tag !== undefined) demand("instr(extra, ?) > 0", JSON.stringify(tag));
  if (limitKey !== undefined) demand("json_extract(extra, '$.limitKey') = ?", limitKey);
  for (const [field, value] of Object.entries(facets ?? {})) demand("json_extract(extra, ?) = ?", facetPath(field), value);
  if (group !== undefined) demand(`${ERROR_GROUP} = ?`, group);
  const search = q === undefined ? null : searchFor(q);
  if (search !== null) demand(...searched(catalog, search));
  const isExact = tag === undefined && search === null;
  return { text: texts.join(" and "), values, isExact, search };
}

/** Whether a job counts as looked at: its status is wanted, and its queue is not skipped. */
export function isCandidate(filter: Filter, leftOut: readonly number[]): Pick<Conditions, "text" | "values"> {
  // Sorted, so that the order of the caller makes no other statement.
  const states = statusesOf(filter)
    ?.map((status): number => STATE[status])
    .sort((a, b) => a - b);
  const texts = states === undefined ? ["true"] : [`state in (${states.join(", ")})`];
  if (leftOut.length === 0) return { text: texts.join(), values: [] };
  return { text: [...texts, "queue not in (select value from json_each(?))"].join(" and "), values: [JSON.stringify(leftOut)] };
}

/** The queues that a filter leaves out: internal ones, and those that it names. */
export function leftOutBy(catalog: Catalog, { internal, exceptQueues = new Set() }: Pick<Filter, "internal" | "exceptQueues">): number[] {
  const named = Array.from(exceptQueues, (name) => catalog.findQueue(name)?.id ?? 0);
  return internal === true ? named : [...catalog.internalQueues(), ...named];
}

const IN_LANES = "lane in (select value from json_each(?))";

function lanesWith(catalog: Catalog, isMeant: (type: string) => boolean): string {
  return JSON.stringify(catalog.everyLane().flatMap(({ id, type }) => (isMeant(type) ? [id, keyedLane(id)] : [])));
}

/** In: text, lanes whose type contains it, the text for the key, in JSON for extra and error, and its digits if it may be part of an id. */
function searched(catalog: Catalog, search: Search): [text: string, ...values: string[]] {
  const { text, inJson } = search;
  const lanes = lanesWith(catalog, (type) => search.isInText(type));
  const beside = [IN_LANES, has("key"), has("extra"), has("error")];
  const values = [text, lanes, text, inJson, inJson];
  if (/^[0-9a-f-]+$/.test(text)) {
    beside.push("instr(lower(hex(id)), ?) > 0");
    values.push(text.replaceAll("-", ""));
  }
  return [`(ifnull(${IN_SMALL_PAYLOAD}, true) or ${beside.join(" or ")})`, ...values];
}

const has = (column: string): string => `ifnull(instr(lower(${column}), ?), 0) > 0`;
