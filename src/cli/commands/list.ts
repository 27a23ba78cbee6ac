import type { ListJobs, PlainClient } from "../../client/client.ts";
import type { JobSummary } from "../../core/job.ts";
import { SORTS, type Sort } from "../../core/list-order.ts";
import { toSummaryWire } from "../../http/wire/job.ts";
import { toPriority } from "../../http/wire/values.ts";
import { defineCommand, number, text, toggle } from "../command.ts";
import { CommandRefused } from "../exit-codes.ts";
import { age, NOTHING, took } from "../figures.ts";
import { filterOf, JOB_FILTER, STATUS_FILTER } from "../job-filter.ts";
import { STATUS_STYLES } from "../job-view.ts";
import type { Column } from "../table.ts";

const DEFAULT_LIMIT = 50;
const MAX_PAGE = 1000;

export const list = defineCommand({
  about:
    "Lists jobs without payloads and results: use `millrace status` for those. Newest created first; with --status, in the order of that status: ended jobs by their end, pending jobs by their place in line, scheduled and retrying jobs by their due time.",
  examples: [
    "millrace list --status dead --type email:send",
    "millrace list --search order-4711",
    "millrace list --from 2h --limit 500 --json",
    "millrace list --status dead --ids",
  ],
  options: {
    status: STATUS_FILTER,
    ...JOB_FILTER,
    sort: text("<order>", "state: in the order of the status (default with --status); created: newest created first", SORTS),
    limit: number(`how many at most (default: ${DEFAULT_LIMIT})`),
    cursor: text("<cursor>", "continue where the previous list ended"),
    ids: toggle("print only ids"),
  },
  async run(input, session) {
    const { limit = DEFAULT_LIMIT, cursor = null } = input;
    if (!Number.isInteger(limit) || limit < 1) throw new CommandRefused(`--limit must be a whole number from 1; got "${limit}"`);
    const { status } = input;
    const sort = (input.sort as Sort | undefined) ?? (status === undefined ? undefined : "state");
    const query: ListJobs = { ...filterOf(input), status, sort, cursor };
    const { output } = session;
    // Programs get a line per job at once. A table waits for all rows, because they decide its widths.
    const rows: JobSummary[] = [];
    const print = (job: JobSummary): unknown =>
      input.ids ? output.line(job.id) : output.json ? output.value(toSummaryWire(job)) : rows.push(job);
    const next = await session.withClient((client) => eachJob(client, query, limit, print));
    if (!input.ids && !output.json) output.items(rows, toSummaryWire, columns(Date.now(), status !== undefined), "no jobs");
    if (next !== null) output.message(`there may be more: continue with --cursor ${next}`);
  },
});

/** Reads pages until there are enough jobs: a short page may not be the last. Returns the cursor of the rest. */
async function eachJob(client: PlainClient, query: ListJobs, limit: number, print: (job: JobSummary) => unknown): Promise<string | null> {
  let cursor = query.cursor ?? null;
  let left = limit;
  do {
    const page = await client.list({ ...query, cursor, limit: Math.min(MAX_PAGE, left) });
    page.jobs.forEach(print);
    left -= page.jobs.length;
    cursor = page.cursor;
  } while (cursor !== null && left > 0);
  return cursor;
}

/** With one status for all, its column is the first that a narrow terminal can do without. */
function columns(now: number, hasOneStatus: boolean): readonly Column<JobSummary>[] {
  return [
    { title: "ID", text: ({ id }) => id },
    { title: "TYPE", text: ({ type }) => type, shrinks: "middle", atLeast: 12 },
    { title: "QUEUE", text: ({ queue }) => queue, shrinks: "middle", leaveOut: 3 },
    { title: "PRIORITY", text: ({ priority }) => String(toPriority(priority)), leaveOut: 5 },
    {
      title: "STATUS",
      text: ({ status }) => status,
      style: ({ status }) => STATUS_STYLES[status],
      leaveOut: hasOneStatus ? 7 : 1,
    },
    { title: "ATTEMPT", text: ({ attempt }) => String(attempt), align: "right", leaveOut: 4 },
    { title: "AGE", text: ({ createdAt }) => age(createdAt, now), align: "right", leaveOut: 2 },
    { title: "TOOK", text: ({ durationMs }) => took(durationMs), align: "right", leaveOut: 6 },
    { title: "ERROR", text: ({ error }) => error?.message ?? NOTHING, shrinks: "end", atLeast: 20 },
  ];
}
