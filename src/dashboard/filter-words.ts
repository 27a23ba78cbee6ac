/** A FILTER IN WORDS: "dead jobs of type email:send in mail". */
import { localTime } from "./format.ts";
import { visible } from "./safe-text.ts";
import type { JobFilter } from "./shapes.ts";

/** The words of each field, in the order in which they are said. */
const WORDS: readonly (readonly [name: keyof JobFilter, words: (value: string) => string])[] = [
  ["type", (type) => `of type ${type}`],
  ["queue", (queue) => `in ${queue}`],
  ["priority", (priority) => `of priority ${priority}`],
  ["tag", (tag) => `with the tag ${tag}`],
  ["group", (group) => `with an error of group ${group}`],
  ["q", (text) => `with the text “${text}”`],
  ["from", (at) => `created at ${moment(at)} or later`],
  ["to", (at) => `created before ${moment(at)}`],
];
const SAID_OTHERWISE = new Set<string>(["status", "internal", ...WORDS.map(([name]) => name)]);

/** Which jobs a bulk operation changes. A field that has no words of its own is shown as it is. */
export function filterWords(filter: JobFilter): string {
  const given = (value: unknown): boolean => value !== undefined && value !== null;
  const said = WORDS.filter(([name]) => given(filter[name])).map(([name, words]) => words(String(filter[name])));
  const others = Object.entries(filter).filter(([name, value]) => !SAID_OTHERWISE.has(name) && given(value));
  const shown = others.map(([name, value]) => `with ${name} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  const internal = filter.internal === true ? ["internal ones included"] : [];
  return visible(
    [`${statusWords(filter.status)} jobs`, [...said, ...shown].join(" "), ...internal].filter((part) => part !== "").join(" "),
  );
}

function statusWords(status: JobFilter["status"]): string {
  const names = status === undefined ? [] : [status].flat();
  return names.length === 0 ? "all" : names.join(names.length > 2 ? ", " : " and ");
}

function moment(at: string): string {
  const ms = Number(at);
  return Number.isNaN(ms) ? at : localTime(ms);
}
