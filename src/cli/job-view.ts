/** A job for people: its fields, its attempts, and the end of its log. */
import type { JobStep, PlainClient } from "../client/client.ts";
import type { Job, LogLine, Status } from "../core/job.ts";
import { formatDuration } from "../core/duration.ts";
import type { JobAttempt, ManualChange } from "../core/manual-change.ts";
import { payloadOf, resultOf } from "../core/json-text.ts";
import { toAttemptWire, toJobWire, toLogLineWire, toManualChangeWire } from "../http/wire/job.ts";
import { toStepWire } from "../http/wire/step.ts";
import { toPriority } from "../http/wire/values.ts";
import { CommandRefused, EXIT } from "./exit-codes.ts";
import { age, moment, NOTHING, took } from "./figures.ts";
import type { Output } from "./output.ts";
import { safeLines, safePrettyJson } from "./safe-text.ts";
import type { Session } from "./session.ts";
import { stepColumns, waitsFor } from "./step-view.ts";
import type { Column, Style } from "./table.ts";

/** How many of the latest log lines are shown; `--json` prints them all. */
const SHOWN_LINES = 20;
const MAX_LINES = 1000;

export const STATUS_STYLES: Readonly<Record<Status, Style>> = {
  scheduled: "blue",
  pending: "cyan",
  running: "yellow",
  retrying: "magenta",
  blocked: "blue",
  completed: "green",
  failed: "red",
  dead: "red",
  cancelled: "gray",
};

export async function showJob(client: PlainClient, id: string, { output }: Session): Promise<void> {
  const [job, attempts, changes, logs] = await Promise.all([
    client.get(id),
    client.attempts(id),
    client.changes(id),
    client.logs(id, { limit: MAX_LINES }),
  ]);
  if (job === null)
    throw new CommandRefused(`there is no job ${id}: it was removed, or pruned after its retention, or never existed`, EXIT.notFound);
  const steps = job.hasSteps ? await client.steps(id) : [];
  if (output.json) {
    return output.value({
      ...toJobWire(job),
      attempts: attempts.map(toAttemptWire),
      changes: changes.map(toManualChangeWire),
      logs: logs.map(toLogLineWire),
      steps: steps.map(toStepWire),
    });
  }
  printJob(job, steps, output);
  if (steps.length > 0) printSteps(steps, output);
  if (attempts.length > 0) printAttempts(attempts, output);
  if (changes.length > 0) printChanges(changes, output);
  if (logs.length > 0) printLogs(logs, output);
}

function printJob(job: Job, steps: readonly JobStep[], output: Output): void {
  const now = Date.now();
  const { progress } = job;
  const facts: readonly (readonly [name: string, value: string, style?: Style])[] = [
    ["id", job.id],
    ["type", job.type],
    ["queue", job.queue],
    ["status", job.status, STATUS_STYLES[job.status]],
    ["because", isSuspended(job) ? steps.filter(isOpen).map(waitsFor).join("; ") || NOTHING : NOTHING],
    ["called by", job.parent === null ? NOTHING : `${job.parent.id} (${job.parent.step})`],
    ["flow", job.flow === null ? NOTHING : `${job.flow.id} (${job.flow.name})`],
    ["priority", String(toPriority(job.priority))],
    ["attempt", `${job.attempt} (${job.retryCount} of ${job.maxRetries} retries used)`],
    ["lost", `${job.lostCount} (at most ${job.maxLost} allowed)`],
    ["created", moment(job.createdAt, now)],
    ["scheduled", moment(job.scheduledAt, now)],
    ["started", moment(job.startedAt, now)],
    ["ended", moment(job.completedAt, now)],
    ["duration", took(job.durationMs)],
    ["worker", job.workerId ?? NOTHING],
    ["progress", progress === null ? NOTHING : `${progress.percent} %${progress.note === null ? "" : ` ${progress.note}`}`],
    ["key", job.idempotencyKey ?? NOTHING],
    ["limit key", job.limitKey ?? NOTHING],
    ["coalescing key", job.coalesce?.key ?? NOTHING],
    ["start within", job.startWithin === null ? NOTHING : formatDuration(job.startWithin)],
    ["cost", job.cost === 1 ? NOTHING : String(job.cost)],
    ["tags", job.tags.join(", ") || NOTHING],
    ["webhook", job.webhookUrl ?? NOTHING],
  ];
  for (const [name, value, style] of facts) if (value !== NOTHING) output.fact(name, value, style);
  if (job.meta !== null) output.block("meta", safePrettyJson(job.meta));
  output.block("payload", safePrettyJson(payloadOf(job)));
  if (job.status === "completed") output.block("result", safePrettyJson(resultOf(job)));
  if (job.error !== null) output.block("error", safeLines(job.error.stack ?? `${job.error.name}: ${job.error.message}`));
}

/** Its handler waits at open steps, and nothing runs. */
function isSuspended({ status }: Job): boolean {
  return status === "blocked" || status === "scheduled";
}

function isOpen({ state }: JobStep): boolean {
  return state === "open";
}

function printSteps(steps: readonly JobStep[], output: Output): void {
  output.line("");
  output.table(stepColumns(Date.now(), output.mark), steps);
}

function printAttempts(attempts: readonly JobAttempt[], output: Output): void {
  const now = Date.now();
  const columns: readonly Column<JobAttempt>[] = [
    // Most jobs have one life.
    ...(attempts.at(-1)!.life > 1 ? [{ title: "LIFE", text: ({ life }: JobAttempt) => String(life), align: "right" } as const] : []),
    { title: "ATTEMPT", text: ({ number }) => String(number), align: "right" },
    { title: "OUTCOME", text: ({ outcome }) => outcome },
    { title: "STARTED", text: ({ startedAt }) => age(startedAt, now), align: "right" },
    { title: "TOOK", text: ({ durationMs }) => took(durationMs), align: "right" },
    { title: "WORKER", text: ({ workerId }) => workerId ?? NOTHING, shrinks: "middle" },
    ...(attempts.some(({ error }) => error?.version !== undefined)
      ? [{ title: "VERSION", text: ({ error }: JobAttempt) => error?.version ?? NOTHING, shrinks: "middle" } as const]
      : []),
    { title: "ERROR", text: ({ error }) => (error === null ? NOTHING : `${error.kind}: ${error.message}`), shrinks: "end" },
  ];
  output.line("");
  output.table(columns, attempts);
}

function printChanges(changes: readonly ManualChange[], output: Output): void {
  const now = Date.now();
  const columns: readonly Column<ManualChange>[] = [
    { title: "CHANGE", text: ({ action }) => action },
    { title: "WAS", text: ({ from }) => from, style: ({ from }) => STATUS_STYLES[from] },
    { title: "AGE", text: ({ at }) => age(at, now), align: "right" },
    { title: "BY", text: ({ by }) => by ?? NOTHING, shrinks: "middle" },
    { title: "REASON", text: ({ reason }) => reason ?? NOTHING, shrinks: "end" },
  ];
  output.line("");
  output.table(columns, changes);
}

function printLogs(logs: readonly LogLine[], output: Output): void {
  output.line("");
  const shown = logs.slice(-SHOWN_LINES);
  if (shown.length < logs.length) output.line(`log (the last ${shown.length} of ${logs.length} lines)`);
  for (const { at, text } of shown) output.line(`${new Date(at).toISOString()}  ${text}`);
}
