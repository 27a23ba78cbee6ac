/** A FILTER IN WORDS: "Dead jobs of type email:send in mail, created in the last hour." Pure. */
import { localTime } from "./format.ts";
import { SPANS } from "./job-search.ts";
import { readStatusFilter } from "../core/status-filter.ts";
import type { JobFilter } from "./shapes.ts";

/** Lists round a span to the minute, and the question may stand for a while. */
const ROUNDED_MS = 120_000;

/** A sentence that names every condition. */
export function filterWords(filter: JobFilter, now: number): string {
  const { status, type, queue, internal, priority, tag, group, q, from, to, ...others } = filter;
  const words = [
    `${listed(readStatusFilter(status) ?? [])} jobs`.trim(),
    type === undefined ? "" : ` of type ${type}`,
    queue === undefined ? "" : ` in ${queue}`,
    priority === undefined ? "" : ` with priority ${priority}`,
    tag === undefined ? "" : ` with the tag ${tag}`,
    group === undefined ? "" : ` with the same error (group ${group})`,
    q === undefined ? "" : ` that contain "${q}"`,
    createdWords(from, to, now),
    // A filter that has no words here must still be named.
    ...Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [`, ${name} ${JSON.stringify(value)}`])),
    internal === true ? ", internal ones included" : "",
  ].join("");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function createdWords(from: JobFilter["from"], to: JobFilter["to"], now: number): string {
  if (from === undefined) return to === undefined ? "" : `, created before ${timeOf(to)}`;
  if (to !== undefined) return `, created from ${timeOf(from)} to ${timeOf(to)}`;
  const back = now - new Date(from).getTime();
  const span = SPANS.find(([, , ms]) => back >= ms && back - ms < ROUNDED_MS);
  return span === undefined ? `, created since ${timeOf(from)}` : `, created in the ${span[1]}`;
}

function timeOf(at: NonNullable<JobFilter["from"]>): string {
  return localTime(new Date(at).getTime());
}
