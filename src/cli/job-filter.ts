/** The filter options of `list`, `bulk`, `retry-dead` and `purge-dead`. */
import type { JobFilter } from "../client/client.ts";
import { parseDuration } from "../core/duration.ts";
import { STATUS_WORDS } from "../core/status-filter.ts";
import { numberOr, type Option, text, texts, toggle } from "./command.ts";
import { CommandRefused } from "./exit-codes.ts";
import { priority } from "./job-input.ts";

/** A time as the client takes it; a duration means that long ago. */
export function since(about: string): Option<JobFilter["from"]> {
  return {
    ...text("<time>", about),
    read: (given) => {
      const ago = typeof given === "string" && !/^\d+$/.test(given) ? parseDuration(given) : null;
      return ago === null ? (numberOr(given) as JobFilter["from"]) : Date.now() - ago;
    },
  };
}

const STATUSES_GIVEN = texts(
  "<status>",
  "only jobs in this status; separate several by commas. failed also means dead, failed_only does not",
  STATUS_WORDS,
);

/** Several, each by an option of its own or separated by commas. */
export const STATUS_FILTER: Option<readonly string[] | undefined> = {
  ...STATUSES_GIVEN,
  read: (given) => STATUSES_GIVEN.read(given)?.flatMap((names) => names.split(",")),
};

/** Payload fields and their values. */
function pairs(placeholder: string, about: string): Option<JobFilter["where"]> {
  const option = texts(placeholder, about);
  return {
    ...option,
    read: (given) => {
      const found = option.read(given);
      return found === undefined ? undefined : Object.fromEntries(withoutRepeats(found.map(readPair)));
    },
  };
}

/** A job has one value of a field: the second would silently replace the first. */
function withoutRepeats(given: [field: string, value: string][]): [field: string, value: string][] {
  const fields = given.map(([field]) => field);
  const twice = fields.find((field, index) => fields.indexOf(field) !== index);
  if (twice !== undefined) throw new CommandRefused(`--where names ${twice} twice: name each field once`);
  return given;
}

function readPair(text: string): [field: string, value: string] {
  const at = text.indexOf("=");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

export const JOB_FILTER = {
  type: text("<type>", "only jobs of this type"),
  queue: text("<name>", "only jobs in this queue"),
  internal: toggle("include internal jobs: webhook deliveries, bulk operations and flows"),
  priority: priority("only jobs of this level, or of exactly this number"),
  tag: text("<tag>", "only jobs with this tag"),
  limitKey: text("<key>", "only jobs with this limit key"),
  flow: text("<id>", "only members of this flow"),
  where: pairs("<field=value>", "only jobs whose payload has this field: customer=globex; up to 4 times"),
  group: text("<group>", "only jobs with an error of this group: see dead-groups"),
  search: {
    ...text("<text>", "only jobs with this text in id, type, tags, key, error or payload; A to Z match in either case"),
    field: "q",
  },
  from: since("created at or after: 2026-03-01T10:00:00Z, or 2h for the last two hours"),
  to: since("created before"),
  endedFrom: since("ended at or after, as --from"),
  endedTo: since("ended before"),
} as const;

type FilterInput = { readonly [Name in keyof typeof JOB_FILTER]: ReturnType<(typeof JOB_FILTER)[Name]["read"]> };

/** Picks the filter from the options of a command. */
export function filterOf(input: FilterInput): Omit<JobFilter, "status"> {
  const { type, queue, internal, priority, tag, limitKey, flow, where, group, search, from, to, endedFrom, endedTo } = input;
  return {
    type,
    queue,
    internal: internal || undefined,
    priority,
    tag,
    limitKey,
    flow,
    where,
    group,
    q: search,
    from,
    to,
    endedFrom,
    endedTo,
  };
}
