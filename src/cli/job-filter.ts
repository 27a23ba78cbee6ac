/** Which jobs are meant, as `list`, `bulk`, `retry-dead` and `purge-dead` take it. */
import type { JobFilter } from "../client/client.ts";
import { parseDuration } from "../core/duration.ts";
import { numberOr, type Option, text, toggle } from "./command.ts";
import { priority } from "./job-input.ts";

/** A time as the client takes it; a length of time is so long ago. */
function since(about: string): Option<JobFilter["from"]> {
  return {
    about,
    placeholder: "<time>",
    many: false,
    words: [],
    read: (given) => {
      const ago = typeof given === "string" && !/^\d+$/.test(given) ? parseDuration(given) : null;
      return ago === null ? (numberOr(given) as JobFilter["from"]) : Date.now() - ago;
    },
  };
}

/** The options of a filter. */
export const JOB_FILTER = {
  type: text("<type>", "only of this type"),
  queue: text("<name>", "only of this queue"),
  internal: toggle("include internal jobs: webhook deliveries and bulk operations"),
  priority: priority("only of this level, or of exactly this number"),
  tag: text("<tag>", "only with this tag"),
  group: text("<group>", "only with an error of this group: see dead-groups"),
  search: { ...text("<text>", "only with this text in id, type, tags, key, error or payload, in either case"), field: "q" },
  from: since("created at or after: 2026-03-01T10:00:00Z, or 2h for the last two hours"),
  to: since("created before"),
} as const;

type FilterInput = { readonly [Name in keyof typeof JOB_FILTER]: ReturnType<(typeof JOB_FILTER)[Name]["read"]> };

/** The filter alone, without the other options of a command. */
export function filterOf({ type, queue, internal, priority, tag, group, search, from, to }: FilterInput): Omit<JobFilter, "status"> {
  return { type, queue, internal: internal || undefined, priority, tag, group, q: search, from, to };
}
