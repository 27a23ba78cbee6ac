import type { Client, ListJobs } from "../../client/client.ts";
import { type JobSummary, STATUSES } from "../../core/job.ts";
import { toSummaryWire } from "../../http/wire/job.ts";
import { toPriority } from "../../http/wire/values.ts";
import { defineCommand, number, text, texts, toggle } from "../command.ts";
import { CommandRefused } from "../exit-codes.ts";
import { age, NOTHING, took } from "../figures.ts";
import { filterOf, JOB_FILTER } from "../job-filter.ts";
import { statusStyle } from "../job-view.ts";
import type { Output } from "../output.ts";
import type { Column } from "../table.ts";

const DEFAULT_LIMIT = 50;
const MAX_PAGE = 1000;

/** Lists jobs, newest first. */
export const list = defineCommand({
  about: "Lists jobs, newest first. Payloads and results are not shown: `millrace status` has them.",
  examples: [
    "millrace list --status dead --type email:send",
    "millrace list --search order-4711",
    "millrace list --from 2h --limit 500 --json",
    "millrace list --status dead --ids",
  ],
  options: {
    status: texts("<status>", "only in this status; several by comma", STATUSES),
    ...JOB_FILTER,
    limit: number(`how many at most (default: ${DEFAULT_LIMIT})`),
    cursor: text("<cursor>", "go on where the list before this one ended"),
    ids: toggle("print nothing but ids"),
  },
  async run(input, session) {
    const { limit = DEFAULT_LIMIT, cursor = null } = input;
    if (!Number.isInteger(limit) || limit < 1) throw new CommandRefused(`--limit must be a whole number from 1; got "${limit}"`);
    const query: ListJobs = { ...filterOf(input), status: input.status?.flatMap((status) => status.split(",")), cursor };
    const { output } = session;
    const shown = input.ids || output.json ? printEach(input.ids, output) : gather(output);
    const next = await session.withClient((client) => eachPage(client, query, limit, shown.take));
    shown.end();
    if (next !== null) output.talk(`there may be more: --cursor ${next}`);
  },
});

/** Pages until there are enough: a page may be short and still not the last. Answers where the rest begins. */
async function eachPage(client: Client, query: ListJobs, limit: number, take: Shown["take"]): Promise<string | null> {
  let cursor = query.cursor ?? null;
  let left = limit;
  do {
    const page = await client.list({ ...query, cursor, limit: Math.min(MAX_PAGE, left) });
    take(page.jobs);
    left -= page.jobs.length;
    cursor = page.cursor;
  } while (cursor !== null && left > 0);
  return cursor;
}

/** What becomes of the jobs. */
interface Shown {
  readonly take: (jobs: readonly JobSummary[]) => void;
  readonly end: () => void;
}

/** For programs: a line for each as soon as it is there, however many there are. */
function printEach(idsOnly: boolean, output: Output): Shown {
  return {
    take: (jobs) => {
      for (const job of jobs)
        if (idsOnly) output.line(job.id);
        else output.value(toSummaryWire(job));
    },
    end: () => {},
  };
}

/** For people: a table, whose columns are as wide as all of them need. */
function gather(output: Output): Shown {
  const all: JobSummary[] = [];
  return {
    take: (jobs) => void all.push(...jobs),
    end: () => (all.length === 0 ? output.talk("no jobs") : output.table(columns(Date.now()), all)),
  };
}

function columns(now: number): readonly Column<JobSummary>[] {
  return [
    { title: "ID", text: ({ id }) => id },
    { title: "TYPE", text: ({ type }) => type, shrinks: true },
    { title: "QUEUE", text: ({ queue }) => queue, shrinks: true },
    { title: "PRIORITY", text: ({ priority }) => String(toPriority(priority)) },
    { title: "STATUS", text: ({ status }) => status, style: ({ status }) => statusStyle(status) },
    { title: "ATTEMPT", text: ({ attempt }) => String(attempt), align: "right" },
    { title: "AGE", text: ({ createdAt }) => age(createdAt, now), align: "right" },
    { title: "TOOK", text: ({ durationMs }) => took(durationMs), align: "right" },
    { title: "ERROR", text: ({ error }) => error?.message ?? NOTHING, shrinks: true },
  ];
}
