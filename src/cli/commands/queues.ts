import type { HistoryQuery, QueueInfo, QueueOptions, TypeFigures, WaitingType } from "../../client/client.ts";
import { defaultsInWords } from "../../core/attempt-options.ts";
import { formatDuration } from "../../core/duration.ts";
import { type Status, STATUSES } from "../../core/job.ts";
import { toQueueDetailsWire, toQueueWire } from "../../http/wire/queue.ts";
import { type CommandGroup, defineVerb, number, numberOr, type Option, orNone, reason, required, text, time, toggle } from "../command.ts";
import { CommandRefused, EXIT } from "../exit-codes.ts";
import { count } from "../../core/counted.ts";
import { NOTHING, span, took } from "../figures.ts";
import { since } from "../job-filter.ts";
import { limitsInWords } from "../limit-view.ts";
import type { Column } from "../table.ts";
import { CREATE } from "./pause.ts";

/** Statuses that a narrow terminal can do without. */
const RARE: ReadonlySet<Status> = new Set(["blocked", "cancelled", "scheduled"]);

const columns: readonly Column<QueueInfo>[] = [
  { title: "QUEUE", text: ({ name }) => name, shrinks: "middle" },
  { title: "STATE", text: ({ paused }) => (paused ? "paused" : "running"), style: ({ paused }) => (paused ? "yellow" : undefined) },
  ...STATUSES.map((status): Column<QueueInfo> => ({
    title: status.toUpperCase(),
    text: ({ counts }) => count(counts[status]),
    align: "right",
    ...(RARE.has(status) ? { leaveOut: 1 } : {}),
  })),
  { title: "OLDEST", text: ({ oldestWaitingMs }) => (oldestWaitingMs === null ? NOTHING : span(oldestWaitingMs)), align: "right" },
  { title: "PER MINUTE", text: ({ rate }) => count(rate), align: "right", leaveOut: 2 },
  { title: "CAPACITY", text: ({ capacity }) => (capacity === null ? NOTHING : count(capacity)), align: "right", leaveOut: 3 },
  {
    title: "HEAD START",
    text: ({ headStart }) => (headStart === null ? "strict" : formatDuration(headStart)),
    align: "right",
    leaveOut: 4,
  },
  { title: "DEAD LETTERS", text: ({ deadLetters }) => (deadLetters ? "on" : "off"), leaveOut: 5 },
  { title: "FACETS", text: ({ facets }) => facets.map(({ field }) => field).join(", ") || NOTHING, leaveOut: 6 },
  { title: "DEFAULTS", text: ({ defaults }) => defaultsInWords(defaults) || NOTHING, leaveOut: 8 },
  { title: "LIMITS", text: ({ limits }) => (limits === null ? NOTHING : limitsInWords(limits)), leaveOut: 9 },
  { title: "KEEP", text: ({ retention: { age, count: most } }) => `${formatDuration(age)} or ${count(most)}`, leaveOut: 7 },
];

const typeColumns: readonly Column<WaitingType>[] = [
  { title: "TYPE", text: ({ type }) => type, shrinks: "middle" },
  { title: "OLDEST", text: ({ oldestWaitingMs }) => span(oldestWaitingMs), align: "right" },
  { title: "WORKER", text: ({ hasWorker }) => (hasWorker ? "live" : "none"), style: ({ hasWorker }) => (hasWorker ? undefined : "red") },
];

const figureColumns: readonly Column<TypeFigures>[] = [
  { title: "TYPE", text: ({ type }) => type ?? "(other types)", shrinks: "middle" },
  { title: "ENQUEUED", text: ({ enqueued }) => count(enqueued), align: "right" },
  { title: "COMPLETED", text: ({ completed }) => count(completed), align: "right" },
  { title: "FAILED", text: ({ failed }) => count(failed), align: "right", style: ({ failed }) => (failed > 0 ? "red" : undefined) },
  { title: "RETRIED", text: ({ retried }) => count(retried), align: "right" },
  { title: "WAIT P95", text: ({ wait }) => took(wait.p95), align: "right" },
  { title: "RUN P50", text: ({ run }) => took(run.p50), align: "right" },
  { title: "RUN P95", text: ({ run }) => took(run.p95), align: "right" },
  { title: "RUN P99", text: ({ run }) => took(run.p99), align: "right" },
];

/** Names separated by commas. The client refuses names that are not valid. */
function fields(about: string): Option<readonly string[] | undefined> {
  const option = text("<field,…>", about, ["none"]);
  return { ...option, read: (given) => (given === undefined ? undefined : given === "none" ? [] : String(given).split(",")) };
}

/** Options of jobs and their values. The client refuses what is not valid. */
function defaultsOption(about: string): Option<QueueOptions["defaults"]> {
  const option = text("<option=value,…>", about, ["none"]);
  return { ...option, read: (given) => (given === undefined ? undefined : given === "none" ? null : readPairs(String(given))) };
}

function readPairs(given: string): QueueOptions["defaults"] {
  const pairs = given.split(",").map((pair) => {
    const [name = "", value = ""] = pair.split("=").map((part) => part.trim());
    return [name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()), numberOr(value)] as const;
  });
  return Object.fromEntries(pairs);
}

/** On or off. The client refuses anything else. */
function onOrOff(about: string): Option<boolean | undefined> {
  const words = ["on", "off"];
  return {
    ...text("<on|off>", about, words),
    read: (given) => (given === "on" ? true : given === "off" ? false : (given as boolean | undefined)),
  };
}

export const queues: CommandGroup = {
  about: "Shows queues with their counts and settings, and changes the settings.",
  examples: ["millrace queues", "millrace queues show mail", "millrace queues set mail --capacity 10000 --head-start 1m"],
  commands: {
    list: defineVerb("Show all queues", {
      about:
        "Shows every queue that ever had a job or a setting. OLDEST: how long the oldest pending job has been due. PER MINUTE: how many jobs ended in the last full minute.",
      examples: ["millrace queues list --json | jq 'select(.paused)'", "millrace queues list --internal"],
      options: { internal: toggle("include the internal queues of webhook deliveries and bulk operations") },
      async run({ internal }, session) {
        const all = await session.withClient((client) => client.queues({ internal }));
        session.output.items(all, toQueueWire, columns, "no queues yet: the first job makes one");
      },
    }),
    show: defineVerb("Show one queue, and which of its types wait", {
      about:
        "Shows a queue, and its types with pending jobs, the longest waiting first. OLDEST: how long the oldest pending job has been due. WORKER: whether a live worker handles the type in this queue.",
      examples: ["millrace queues show mail", "millrace queues show mail --json | jq '.types[] | select(.has_worker | not)'"],
      arguments: { queue: required("queue", "the name of a queue") },
      async run({ queue }, session) {
        const { output } = session;
        const found = await session.withClient((client) => client.queue(queue));
        if (found === null) throw new CommandRefused(`there is no queue ${queue}`, EXIT.notFound);
        if (output.json) return output.value(toQueueDetailsWire(found));
        output.table(columns, [found]);
        output.line("");
        output.items(found.types, (type) => type, typeColumns, "no job is pending");
      },
    }),
    types: defineVerb("Show what each type of a queue did", {
      about:
        "Shows what each type of a queue did over time, the busiest first: by default in the last 24 hours. FAILED: jobs that ended dead or failed. WAIT and RUN: how long attempts waited and ran. Each of the first 100 types of a queue is counted on its own.",
      examples: ["millrace queues types mail", "millrace queues types mail --step minute --from 15m"],
      arguments: { queue: required("queue", "the name of a queue") },
      options: {
        step: text("<hour|minute>", "whether to add up hours or minutes", ["hour", "minute"]),
        from: since("from the hour or minute of this time: 2026-03-01T10:00:00Z, or 2h for the last two hours"),
        to: since("up to the hour or minute of this time"),
      },
      async run({ queue, step, from, to }, session) {
        const query = { step: step as HistoryQuery["step"], from, to };
        const types = await session.withClient((client) => client.queueTypes(queue, query));
        session.output.items(types, (type) => type, figureColumns, `nothing happened in the queue ${queue} in this time`);
      },
    }),
    set: defineVerb("Change the settings of a queue", {
      about: "Changes the given settings of a queue; the others stay.",
      examples: ["millrace queues set mail --capacity 10000", "millrace queues set mail --capacity none --head-start strict --keep-age 7d"],
      arguments: { queue: required("queue", "the name of a queue") },
      options: {
        capacity: orNone(number("how many jobs may wait; none means no limit"), "none"),
        headStart: orNone(time("how much time one step of priority is worth: 1m; strict: the higher priority always goes first"), "strict"),
        deadLetters: onOrOff("whether jobs that failed for good become dead letters"),
        facets: fields("payload fields to index, up to 4, separated by commas: customer,order.region; none removes all"),
        defaults: defaultsOption("defaults for its jobs, in place of the ones before: max-retries=5,timeout=2m; none removes all"),
        keepAge: { ...time("how long completed and cancelled jobs are kept"), field: "retention.age" },
        keepCount: { ...number("how many of them are kept"), field: "retention.count" },
        keepAtLeast: { ...time("how long they are always kept"), field: "retention.keepAtLeast" },
        create: CREATE,
        reason,
      },
      async run({ queue, create, reason: why, keepAge, keepCount, keepAtLeast, ...given }, session) {
        const retention = { age: keepAge, count: keepCount, keepAtLeast };
        const settings: QueueOptions = { ...given, retention };
        const isEmpty = [...Object.values(given), ...Object.values(retention)].every((value) => value === undefined);
        if (isEmpty) throw new CommandRefused("nothing to set: pass a setting, such as --capacity 1000");
        await session.withClient(async (client) => {
          await client.configure(queue, settings, { create, reason: why });
          const changed = (await client.queues()).filter(({ name }) => name === queue);
          session.output.items(changed, toQueueWire, columns, `there is no queue ${queue}`);
        });
      },
    }),
  },
};
