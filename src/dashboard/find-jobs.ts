/**
 * READS A SEARCH FOR JOBS. An id opens its job; `name:value` pairs are filters of the list, `payload.name:value` is a payload field, and all
 * other words are text to search for.
 */
import { isField } from "../core/facets.ts";
import { MAX_SEARCH_LENGTH } from "../core/search.ts";
import { FILTER_NAMES, type FilterName, type JobSearch, searchName } from "./job-search.ts";
import { changeWhere } from "./where-text.ts";

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

export function isId(text: string): boolean {
  return ID.test(text);
}

/** What a payload field begins with. */
export const PAYLOAD = "payload.";

export function readQuery(text: string): JobSearch {
  if (isJson(text)) return { q: searchText(text) };
  const found: [FilterName, string][] = [];
  const others: string[] = [];
  let where: string | undefined;
  for (const word of wordsOf(text)) {
    const colon = word.indexOf(":");
    const name = word.slice(0, colon);
    const filter = FILTER_NAMES.find((each) => each === name || searchName(each) === name);
    const value = unquoted(word.slice(colon + 1));
    const field = name.startsWith(PAYLOAD) ? name.slice(PAYLOAD.length) : "";
    if (isField(field) && value !== "") where = changeWhere(where, field, value);
    else if (filter !== undefined) found.push([filter, value]);
    else others.push(unquoted(word));
  }
  if (others.length > 0) found.push(["q", searchText(others.join(" "))]);
  if (where !== undefined) found.push(["where", where]);
  return Object.fromEntries(found);
}

/** A text as the API searches for it: JSON without space between its parts, as payloads are stored; and no longer than a search may be. */
export function searchText(text: string): string {
  const compact = isJson(text) ? text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1") : text;
  return compact
    .trim()
    .slice(0, MAX_SEARCH_LENGTH)
    .replace(/[\ud800-\udbff]$/, "");
}

/** Whether the text is an object, a list, or fields of an object. A text in quotes is a phrase. */
function isJson(text: string): boolean {
  const fields = text.trim().replace(/,$/, "");
  return [fields, `{${fields}}`].some((json) => {
    try {
      return typeof JSON.parse(json) === "object" && fields.length > 1 && /^[{["]/.test(fields);
    } catch {
      return false;
    }
  });
}

/** Spaces divide words, except inside quotes. */
function wordsOf(text: string): string[] {
  return text.match(/[^\s"]*"[^"]*"|\S+/g) ?? [];
}

function unquoted(text: string): string {
  return text.replace(/^"(.*)"$/, "$1");
}
