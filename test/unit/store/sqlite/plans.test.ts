import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { migrate } from "../../../../src/store/sqlite/migrations.ts";
import * as limitStatements from "../../../../src/store/sqlite/limit-statements.ts";
import * as listStatements from "../../../../src/store/sqlite/list-statements.ts";
import * as stepStatements from "../../../../src/store/sqlite/step-statements.ts";
import * as statements from "../../../../src/store/sqlite/statements.ts";

const db = new DatabaseSync(":memory:");
migrate(db);

function planOf(text: string): string {
  // A numbered value may be used more than once.
  const values: readonly string[] = text.match(/\?\d*/g) ?? [];
  const given = values.filter((value, index) => value === "?" || values.indexOf(value) === index);
  return db
    .prepare(`explain query plan ${text}`)
    .all(...given.map(() => 1))
    .map((row) => String(row["detail"]))
    .join("\n");
}

/** Each statement that runs often, and the index without which it would slow down as finished jobs pile up. */
const INDEXES: [name: string, text: string, index: string][] = [
  ["claim of one lane", statements.readyJobs(1, 128), "millrace_ready"],
  ["claim of 64 lanes", statements.readyJobs(64, 128), "millrace_ready"],
  ["due jobs", statements.DUE_JOBS, "millrace_due"],
  ["next due job", statements.NEXT_DUE, "millrace_due"],
  ["next due job, if it is suspended", statements.NEXT_DUE, "millrace_suspended"],
  ["suspended jobs that are due", statements.DUE_SUSPENDED, "millrace_suspended (lease_until>? AND lease_until<?)"],
  ["expired leases", statements.EXPIRED_LEASES, "millrace_leased"],
  ["next expiry", statements.NEXT_EXPIRY, "millrace_leased"],
  ["ended jobs to prune", statements.ENDED_BEFORE, "millrace_ended"],
  ["pending jobs in a list", listStatements.SEQS_OF_LANE, "millrace_ready"],
  ["lanes that hold a job", statements.READY_LANES, "millrace_ready"],
  ["the head of a lane", statements.HEAD_OF_LANE, "millrace_ready (lane=? AND rank>?)"],
  ["what is ranked before a job", statements.COUNT_RANKED_BEFORE, "millrace_ready (lane=? AND rank<?)"],
  ["what came before a job", statements.COUNT_CAME_BEFORE, "millrace_ready (lane=? AND rank=? AND rowid<?)"],
  [
    "a list down from the newest",
    listStatements.walkJobs("lane in (select value from json_each(?)) and state in (2, 3)"),
    "INTEGER PRIMARY KEY",
  ],
  ["a count of the newest", listStatements.countJobs("state in (4) and lane in (select value from json_each(?))"), "INTEGER PRIMARY KEY"],
  [
    "the n-th job of some states",
    listStatements.candidatesBelow("state in (2) and queue not in (select value from json_each(?))"),
    "PRIMARY KEY",
  ],
  ["a count of picked jobs", listStatements.countPicked("state in (2)"), "INTEGER PRIMARY KEY"],
  ["a look at picked jobs", listStatements.lookAtPicked("state in (2)"), "INTEGER PRIMARY KEY"],
  ["pending jobs in line", listStatements.nextInLane(64), "COVERING INDEX millrace_ready (lane=? AND rank>?)"],
  ["jobs that are due soonest", listStatements.nextDue(64), "millrace_due (run_at>?)"],
  [
    "jobs that ended last",
    listStatements.nextEnded(64),
    "COVERING INDEX millrace_ended (queue=? AND state=? AND ended_at>? AND ended_at<?)",
  ],
  ["where a job stands", statements.POSITION_OF_JOB, "sqlite_autoindex_millrace_job_1"],
  ["a search down from the newest", listStatements.searchJobs("state in (2)"), "INTEGER PRIMARY KEY"],
  ["counters of a period", statements.READ_COUNTS, "(step=? AND at>? AND at<?)"],
  ["waiting jobs in a list", listStatements.SEQS_DUE, "millrace_due"],
  ["running jobs in a list", listStatements.SEQS_RUNNING, "millrace_leased"],
  ["ended jobs in a list", listStatements.SEQS_ENDED, "millrace_ended"],
  ["jobs that ended in a time", listStatements.SEQS_ENDED_WITHIN, "millrace_ended (queue=? AND state=? AND ended_at>? AND ended_at<?)"],
  ["a count of these", listStatements.COUNT_ENDED_WITHIN, "millrace_ended (queue=? AND state=? AND ended_at>? AND ended_at<?)"],
  ["their errors", listStatements.countErrors("true"), "millrace_ended (queue=? AND state=? AND ended_at>? AND ended_at<?)"],
  ["their facets", listStatements.countFacetValues("true"), "millrace_ended (queue=? AND state=? AND ended_at>? AND ended_at<?)"],
  [
    "jobs with a facet",
    listStatements.SEQS_OF_FACET,
    "millrace_facet USING PRIMARY KEY (queue=? AND field=? AND value=? AND seq>? AND seq<?)",
  ],
  ["expired keys", statements.DROP_EXPIRED_KEYS, "millrace_key_expiry"],
  ["due schedules", statements.DUE_SCHEDULES, "millrace_schedule_due"],
  ["next schedule", statements.NEXT_SCHEDULE, "millrace_schedule_due"],
  ["a job by its id", statements.FIND_JOB, "sqlite_autoindex_millrace_job_1"],
  ["completion of a job", statements.COMPLETE_JOB, "sqlite_autoindex_millrace_job_1"],
  ["completion of a lease granted here", statements.COMPLETE_GRANTED, "INTEGER PRIMARY KEY"],
  ["extension of a lease", statements.EXTEND_LEASE, "sqlite_autoindex_millrace_job_1"],
  ["the job of some steps", stepStatements.JOB_OF_STEPS, "sqlite_autoindex_millrace_job_1"],
  ["a step", stepStatements.FIND_STEP, "millrace_step USING PRIMARY KEY (job=? AND name=?)"],
  ["a page of steps", stepStatements.READ_STEPS, "millrace_step USING PRIMARY KEY (job=? AND name>? AND name<?)"],
  ["how large the steps of a job are", stepStatements.SIZES_BESIDE, "millrace_step USING PRIMARY KEY (job=?)"],
  ["steps that are overdue", stepStatements.END_OVERDUE, "millrace_step USING PRIMARY KEY (job=?)"],
];

/** What each statement about lines, keys and their jobs finds by an index. */
const BY_LINE: readonly [name: string, text: string, ...indexes: string[]][] = [
  [
    "lines by tag",
    limitStatements.linesByTag(true, 128),
    "millrace_turns (lane=? AND priority=? AND place=?)",
    "millrace_in_line (state=? AND line=?)",
  ],
  ["lines by rank", limitStatements.linesByRank(true, 128), "millrace_turns (lane=?)", "millrace_in_line (state=? AND line=?)"],
  ["the first jobs of a line", limitStatements.firstInLine(128), "millrace_in_line (state=? AND line=?)"],
  ["whether a line has jobs", limitStatements.HAS_PENDING, "COVERING INDEX millrace_in_line (state=? AND line=?)"],
  ["an empty line", limitStatements.LEAVE_IF_EMPTY, "millrace_line USING INTEGER PRIMARY KEY", "millrace_in_line (state=? AND line=?)"],
  ["the leases of a key", limitStatements.RUNNING_OF_KEY, "(limit_key=?)", "COVERING INDEX millrace_in_line (state=? AND line=?)"],
  ["its waiting jobs", limitStatements.WAITING_OF_KEY, "(limit_key=?)", "COVERING INDEX millrace_in_line (state=? AND line=?)"],
  ["its use", limitStatements.USE_OF_KEY, "(queue=? AND key=?)", "COVERING INDEX millrace_in_line (state=? AND line=?)"],
  ["the line of a new job", limitStatements.FIND_LINE, "(queue=? AND key=?)", "(limit_key=? AND lane=? AND priority=?)"],
  ["parked lines of a key", limitStatements.UNPARK, "(limit_key=?)"],
  ["parked lines of a queue", limitStatements.HAS_PARKED, "COVERING INDEX millrace_turns (lane=? AND priority=? AND place=?)"],
  ["lines that stand aside", limitStatements.RECONSIDER_QUEUE, "millrace_turns (lane=? AND priority=? AND place=?)"],
  ["the next line to wake", limitStatements.NEXT_AWAKE, "COVERING INDEX millrace_asleep (queue=?)"],
  ["lines to wake", limitStatements.WAKE_LINES, "millrace_asleep (queue=? AND until<?)"],
  ["keys with limits of their own", limitStatements.KEYS_WITH_LIMITS, "millrace_own_limits (queue=? AND key>?)"],
  ["keys to drop", limitStatements.DROP_IDLE_KEYS, "INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "(limit_key=?)"],
  [
    "lines to drop",
    limitStatements.DROP_EMPTY_LINES,
    "millrace_turns (lane=? AND priority=? AND place=? AND tag<?)",
    "millrace_in_line (state=? AND line=?)",
  ],
];

describe("no hot statement looks at jobs that it does not want", () => {
  test.each(INDEXES)("%s", (_, text, index) => {
    const plan = planOf(text);
    expect(plan).toContain(index);
    expect(plan).not.toMatch(/SCAN millrace_job(?! USING)/);
  });

  test.each(BY_LINE)("%s", (_, text, ...indexes) => {
    const plan = planOf(text);
    for (const index of indexes) expect(plan).toContain(index);
    expect(plan).not.toMatch(/SCAN millrace_(?:job|line|limit_key)/);
  });

  test("a claim reads the lines of a ring in the order of their tags, and the jobs of a line in theirs, and sorts nothing", () => {
    for (const text of [limitStatements.linesByTag(true, 128), limitStatements.firstInLine(128)]) {
      expect(planOf(text)).not.toContain("TEMP B-TREE");
    }
  });

  test("a claim reads its lanes in rank order and sorts nothing", () => {
    expect(planOf(statements.readyJobs(1, 128))).not.toContain("TEMP B-TREE");
    expect(planOf(statements.readyJobs(8, 128))).toContain("MERGE (UNION ALL)");
  });

  test.each([listStatements.nextInLane(64), listStatements.nextDue(64), listStatements.nextEnded(64), listStatements.SEQS_OF_FACET])(
    "%s reads in order and sorts nothing",
    (text) => {
      expect(planOf(text)).not.toContain("TEMP B-TREE");
    },
  );

  test("a statement without the index's own term is seen as a scan, so this test can fail", () => {
    expect(planOf("select seq from millrace_job where state = 4 and queue = ? order by ended_at")).not.toContain("millrace_ended");
  });
});
