/** READS A SEARCH FOR JOBS. An id opens its job; `name:value` pairs are filters of the list, and all other words are text to search for. */
import { FILTER_NAMES, type FilterName, type JobSearch } from "./job-search.ts";

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

export function isId(text: string): boolean {
  return ID.test(text);
}

export function readQuery(text: string): JobSearch {
  const found: [FilterName, string][] = [];
  const others: string[] = [];
  for (const word of wordsOf(text)) {
    const colon = word.indexOf(":");
    const name = word.slice(0, colon) as FilterName;
    if (FILTER_NAMES.includes(name)) found.push([name, unquoted(word.slice(colon + 1))]);
    else others.push(unquoted(word));
  }
  if (others.length > 0) found.push(["q", others.join(" ")]);
  return Object.fromEntries(found);
}

/** Spaces divide words, except inside quotes. */
function wordsOf(text: string): string[] {
  return text.match(/[^\s"]*"[^"]*"|\S+/g) ?? [];
}

function unquoted(text: string): string {
  return text.replace(/^"(.*)"$/, "$1");
}
