import type { NewJob } from "../../core/job.ts";
import { LostAnswer } from "../lost-answer.ts";
import { statusOf } from "../numbers.ts";
import type { InsertAnswer, ReplaceAnswer } from "../store.ts";
import { CHANGED } from "./answers.ts";
import type { Row } from "./codec.ts";
import { type Context, inRounds, roundsById } from "./context.ts";
import { admitColumns, hintsOfInserted } from "./insert.ts";
import { waitOrLeaveOut } from "./wait-or-leave-out.ts";

const ANSWERS = {
  [CHANGED.done]: "ok",
  [CHANGED.refused]: "refused",
  [CHANGED.missing]: "missing",
  [CHANGED.leftOut]: "locked",
} as const satisfies Record<number, ReplaceAnswer>;

export async function replaceJobs(context: Context, jobs: readonly NewJob[]): Promise<ReplaceAnswer[]> {
  if (jobs.length === 0) return [];
  const lost = new LostAnswer("PostgreSQL");
  const answers = await inRounds(jobs, roundsById(jobs), (batch) => replace(context, batch, lost.note));
  context.housekeeping.wrote(answers.length);
  lost.check(
    answers.every((answer) => answer === "ok" || answer === "locked"),
    "jobs",
  );
  return answers;
}

async function replace(context: Context, jobs: readonly NewJob[], onUnknown: () => void): Promise<ReplaceAnswer[]> {
  const { connections, sql, catalog, now, sendHints } = context;
  const columns = admitColumns(jobs, await catalog.lanes(jobs));
  const rows = await waitOrLeaveOut(
    connections,
    {
      items: jobs.length,
      ask: (on, careful) => on.query(sql.replace, [now(), careful, ...columns]),
      leavesOut: (found) => found.some(([, kind]) => kind === CHANGED.leftOut),
    },
    { onUnknown },
  );
  sendHints(hintsOfInserted(jobs, rows.map(readCreated)));
  return rows.map(([, kind]) => ANSWERS[kind as keyof typeof ANSWERS]);
}

/** What an insert of the job would have answered, for its hints. */
function readCreated([, kind, state, createdAt, runAt]: Row): InsertAnswer {
  if (kind !== CHANGED.done) return { kind: "locked" };
  return { kind: "created", status: statusOf(state as number), createdAt: createdAt as number, runAt: runAt as number };
}
