/** A FILTER IN WORDS: "Dead jobs of type email:send in mail, created in the last hour." Pure. */
import { formatSpan, parseDuration } from "../core/duration.ts";
import { localTime } from "./format.ts";
import { SPANS } from "./job-search.ts";
import { readStatusFilter } from "../core/status-filter.ts";
import type { JobFilter } from "./shapes.ts";

/** Lists round a span to the minute, and the question may stand for a while. */
const ROUNDED_MS = 120_000;

/**
 * A sentence that names every condition. Without `now`, times are told as they are: it is about the past. An error group has its words,
 * unless no job has the error any more.
 */
export function filterWords(filter: JobFilter, now: number | null, groupWords: string | null): string {
  const { status, type, queue, internal, priority, tag, limitKey, flow, where, group, q, from, to, endedFrom, endedTo, ...others } = filter;
  const words = [
    `${listed(readStatusFilter(status) ?? [])} jobs`.trim(),
    type === undefined ? "" : ` of type ${type}`,
    queue === undefined ? "" : ` in ${queue}`,
    priority === undefined ? "" : ` with priority ${priority}`,
    tag === undefined ? "" : ` with the tag ${tag}`,
    limitKey === undefined ? "" : ` with the limit key "${limitKey}"`,
    flow === undefined ? "" : ` of the flow ${flow}`,
    where === undefined ? "" : ` with ${listed(Object.entries(where).map(([field, value]) => `${field} "${value}"`))}`,
    group === undefined ? "" : groupWords === null ? ` with the same error (group ${group})` : ` with the error "${groupWords}"`,
    q === undefined ? "" : ` that contain "${q}"`,
    timeWords("created", from, to, now),
    timeWords("ended", endedFrom, endedTo, now),
    // A filter that has no words here must still be named.
    ...Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [`, ${name} ${JSON.stringify(value)}`])),
    internal === true ? ", internal ones included" : "",
  ].join("");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** Over which time jobs are retried, if not at once. */
export function spreadWords(spread: number | null): string {
  return spread === null ? "" : `, spread over ${formatSpan(spread)}`;
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function timeWords(verb: string, from: JobFilter["from"], to: JobFilter["to"], now: number | null): string {
  if (from === undefined) return to === undefined ? "" : `, ${verb} before ${timeOf(to)}`;
  if (to !== undefined) return `, ${verb} from ${timeOf(from)} to ${timeOf(to)}`;
  const back = now === null ? 0 : now - new Date(from).getTime();
  const span = SPANS.find(([text]) => back >= parseDuration(text)! && back - parseDuration(text)! < ROUNDED_MS);
  return span === undefined ? `, ${verb} since ${timeOf(from)}` : `, ${verb} in the ${span[1]}`;
}

function timeOf(at: NonNullable<JobFilter["from"]>): string {
  return localTime(new Date(at).getTime());
}
