import type { BulkOperation, BulkRequest } from "../../client/client.ts";
import { type BulkAction, type BulkStatus, MAX_OPERATIONS_PAGE } from "../../core/bulk.ts";
import { formatDuration } from "../../core/duration.ts";
import { toOperationWire, toPreviewWire } from "../../http/wire/bulk.ts";
import { confirmMatched, demandOperation, matchedText, RETRY_OPTIONS, runOperation, printFailures } from "../bulk-run.ts";
import { type CommandGroup, defineVerb, number, reason, required, text, toggle, type Verb } from "../command.ts";
import { CommandRefused } from "../exit-codes.ts";
import { count, counted } from "../../core/counted.ts";
import { age, moment } from "../figures.ts";
import { filterOf, JOB_FILTER, STATUS_FILTER } from "../job-filter.ts";
import type { Output } from "../output.ts";
import type { Column, Style } from "../table.ts";

const id = required("id", "the id of an operation");

export const bulk: CommandGroup = {
  about:
    "Retries, cancels or deletes all jobs that match. If you interrupt the command, the operation continues: the server finishes it; without a server, the next process that serves or starts an operation does.",
  examples: ["millrace bulk retry --group 3f9c2a71b0de", "millrace bulk delete --status completed --to 7d --dry-run", "millrace bulk"],
  commands: {
    list: defineVerb("Show operations", {
      about: "Shows operations, newest first, whoever started them.",
      examples: ["millrace bulk list --limit 10", "millrace bulk list --json | jq 'select(.status == \"running\")'"],
      options: {
        limit: number(`how many at most (default and most: ${MAX_OPERATIONS_PAGE})`),
        cursor: text("<cursor>", "continue where the previous list ended"),
      },
      async run(input, session) {
        const { operations, cursor } = await session.withClient((client) => client.bulk.list(input));
        session.output.items(operations, toOperationWire, columns(Date.now()), "no bulk operations");
        if (cursor !== null) session.output.message(`there may be more: continue with --cursor ${cursor}`);
      },
    }),
    retry: action("retry", "Retry all jobs that match", {
      about: "Retries all dead and failed jobs that match; cancelled ones only with --status cancelled. Asks first, unless you pass --yes.",
      examples: [
        "millrace bulk retry --type email:send --from 2h",
        "millrace bulk retry --group 3f9c2a71b0de --limit 5",
        "millrace bulk retry --all --yes --spread 10m",
      ],
      options: RETRY_OPTIONS,
      ask: (many) => `Retry ${many}?`,
      doing: "retrying",
      done: "retried",
    }),
    cancel: action("cancel", "Cancel all jobs that match", {
      about: "Cancels all waiting, blocked and running jobs that match. Asks first, unless you pass --yes.",
      examples: ["millrace bulk cancel --queue mail --status pending", "millrace bulk cancel --tag import --dry-run"],
      options: { limit: RETRY_OPTIONS.limit },
      ask: (many) => `Cancel ${many}?`,
      doing: "cancelling",
      done: "cancelled",
    }),
    delete: action("delete", "Delete all jobs that match", {
      about: "Deletes all ended jobs that match, for good. Asks first, unless you pass --yes.",
      examples: ["millrace bulk delete --status completed --to 7d", "millrace bulk delete --all --yes"],
      options: { limit: RETRY_OPTIONS.limit },
      ask: (many) => `Delete ${many} for good?`,
      doing: "deleting",
      done: "deleted",
    }),
    status: defineVerb("Show one operation", {
      about: "Shows the progress of an operation, and which jobs could not be changed.",
      examples: ["millrace bulk status 0199f3c2-7b5e-7000-8000-0123456789ab"],
      arguments: { id },
      async run(input, session) {
        const operation = await session.withClient((client) => demandOperation(client, input.id));
        print(operation, session.output);
        if (!session.output.json) printFailures(operation, session);
      },
    }),
    stop: defineVerb("Stop an operation", {
      about:
        "Stops an operation after its current batch; jobs already changed stay changed. An operation that has ended is refused (exit code 5).",
      examples: ["millrace bulk stop 0199f3c2-7b5e-7000-8000-0123456789ab"],
      arguments: { id },
      options: { reason },
      async run(input, session) {
        print(await session.withClient((client) => client.bulk.stop(input.id, { reason: input.reason })), session.output);
      },
    }),
  },
};

interface ActionTexts {
  readonly about: string;
  readonly examples: readonly string[];
  readonly options: Partial<typeof RETRY_OPTIONS>;
  readonly ask: (many: string) => string;
  readonly doing: string;
  readonly done: string;
}

function action(name: BulkAction, summary: string, { about, examples, options, ask, doing, done }: ActionTexts): Verb {
  return defineVerb(summary, {
    about,
    examples,
    options: {
      status: STATUS_FILTER,
      ...JOB_FILTER,
      ...options,
      all: toggle("every job, if you give no filter"),
      dryRun: toggle("only print how many match"),
      yes: toggle("do not ask"),
      reason,
    },
    run: (input, session) =>
      session.withClient(async (client) => {
        const { output } = session;
        const filter = { ...filterOf(input), status: input.status };
        const request: BulkRequest = { action: name, filter, all: input.all, limit: input.limit, spread: input.spread };
        if (input.dryRun) {
          const preview = await client.bulk.preview(request);
          if (output.json) return output.value(toPreviewWire(preview));
          return output.line(`${matchedText(preview)} would be ${done}`);
        }
        if (!input.all && Object.values(filter).every((value) => value === undefined))
          throw new CommandRefused("no filter given: pass one, such as --type or --status, or --all for every job");
        await confirmMatched(client, request, ask, input, session);
        const operation = await runOperation(client, request, { what: doing, reason: input.reason }, session);
        if (output.json) return output.value(toOperationWire(operation));
        output.line(`${done} ${counted(operation.succeeded, "job")}`);
        printFailures(operation, session);
      }),
  });
}

const STYLES: Readonly<Record<BulkStatus, Style | undefined>> = { running: "cyan", completed: "green", stopped: "yellow", failed: "red" };

function columns(now: number): readonly Column<BulkOperation>[] {
  return [
    { title: "ID", text: (operation) => operation.id },
    { title: "ACTION", text: (operation) => operation.action },
    { title: "STATUS", text: ({ status }) => status, style: ({ status }) => STYLES[status] },
    { title: "MATCHED", text: matchedFigure, align: "right" },
    { title: "DONE", text: ({ processed }) => count(processed), align: "right" },
    { title: "FAILED", text: ({ failed }) => count(failed), align: "right" },
    { title: "AGE", text: ({ createdAt }) => age(createdAt, now), align: "right" },
    { title: "FILTER", text: filterText, shrinks: "end" },
  ];
}

function matchedFigure({ matched, matchedIsCapped }: BulkOperation): string {
  return count(matched) + (matchedIsCapped ? "+" : "");
}

function filterText({ filter, groupWords }: BulkOperation): string {
  const named = groupWords === null ? filter : { ...filter, group: `"${groupWords}" (${filter.group})` };
  return Object.entries(named)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(",") : String(value)}`)
    .join(" ");
}

function print(operation: BulkOperation, output: Output): void {
  if (output.json) return output.value(toOperationWire(operation));
  const now = Date.now();
  output.fact("id", operation.id);
  output.fact("action", operation.action);
  output.fact("filter", filterText(operation));
  if (operation.limit !== null) output.fact("limit", count(operation.limit));
  if (operation.spread !== null) output.fact("spread", formatDuration(operation.spread));
  output.fact("status", operation.status, STYLES[operation.status]);
  output.fact("matched", matchedFigure(operation));
  output.fact("processed", count(operation.processed));
  output.fact("succeeded", count(operation.succeeded));
  output.fact("failed", count(operation.failed));
  if (operation.error !== null) output.fact("error", operation.error);
  output.fact("started", moment(operation.createdAt, now));
  if (operation.by !== null) output.fact("by", operation.by);
  if (operation.reason !== null) output.fact("reason", operation.reason);
  if (operation.endedAt !== null) output.fact("ended", moment(operation.endedAt, now));
}
