/** WHAT IS TYPED TO FIND JOBS. An id leads to its job; `name:value` pairs are the filters of the list. */
import { FILTER_NAMES, type FilterName, type JobSearch } from "./job-search.ts";

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** Whether it is the id of a job. */
export function isId(text: string): boolean {
  return ID.test(text);
}

/** The filters that a text names, or why it names none. */
export function readQuery(text: string): { readonly search: JobSearch } | { readonly problem: string } {
  const found: [FilterName, string][] = [];
  for (const word of wordsOf(text)) {
    const colon = word.indexOf(":");
    const name = word.slice(0, colon) as FilterName;
    if (colon < 1 || !FILTER_NAMES.includes(name)) {
      return { problem: `“${word}” is neither the id of a job nor a filter such as ${FILTER_NAMES.map((each) => `${each}:`).join(" ")}` };
    }
    found.push([name, unquoted(word.slice(colon + 1))]);
  }
  return { search: Object.fromEntries(found) };
}

/** Spaces divide words, except inside quotes. */
function wordsOf(text: string): string[] {
  return text.match(/[^\s"]*"[^"]*"|\S+/g) ?? [];
}

function unquoted(text: string): string {
  return text.replace(/^"(.*)"$/, "$1");
}
