import { isTerminal, type Status, TERMINAL } from "../../src/core/job.ts";
import type { Bench, Family } from "./family.ts";
import type { StoredJob } from "./line.ts";
import {
  happened,
  isBefore,
  isRepeat,
  type JobStory,
  lastLine,
  leasesOf,
  linesOf,
  mayHaveHappened,
  type Moment,
  type Op,
} from "./story.ts";

/** I5: an end is final unless someone asks for a new life, and what is stored of it is what was reported. */
export const ending: Family = {
  covers: ["I5"],
  begin: (bench) => ({
    job(story) {
      checkNothingFollows(bench, story);
      for (const job of story.stored) {
        if (isTerminal(job.status)) checkStoredEnd(bench, story, job);
        checkLastWord(bench, story, job);
      }
    },
  }),
};

type Ending = Op<"settle"> | Op<"cancel">;

function statusAfter(ending: Ending): Status {
  return ending.do === "cancel" ? "cancelled" : ending.ask.to;
}

/** What ended the job, or may have. Repeats of a report end nothing. */
function endingsOf({ settles, cancels }: JobStory): Ending[] {
  const terminal = settles.filter((settle) => TERMINAL.includes(settle.ask.to) && !isRepeat(settle, settles));
  return [...terminal, ...cancels].filter(mayHaveHappened).sort((a, b) => a.invoked.line - b.invoked.line);
}

/** Whether someone may have given the job a new life in that time. */
function isRevived({ retries }: JobStory, from: Moment, to: number): boolean {
  return retries.some((retry) => mayHaveHappened(retry) && lastLine(retry) > from.line && retry.invoked.line < to);
}

function checkNothingFollows({ report }: Bench, story: JobStory): void {
  const endings = endingsOf(story).filter(happened);
  for (const end of endings) {
    const lease = leasesOf(story).find(
      (lease) => lease.invoked.line > end.answered!.line && !isRevived(story, end.invoked, lease.answered.line),
    );
    if (lease !== undefined) {
      report("I5", story.id, `was claimed after it had ended ${statusAfter(end)}, and nobody retried it`, [
        ...linesOf(end),
        lease.answered.line,
      ]);
    }
    const second = endings.find((other) => isBefore(end, other) && !isRevived(story, end.invoked, other.answered!.line));
    if (second !== undefined) {
      report("I5", story.id, `ended ${statusAfter(end)} and then ${statusAfter(second)} in one life`, [
        ...linesOf(end),
        ...linesOf(second),
      ]);
    }
  }
}

function checkStoredEnd({ report }: Bench, story: JobStory, job: StoredJob & Moment): void {
  const candidates = endingsOf(story).filter((end) => statusAfter(end) === job.status && fits(end, job));
  const lines = [...endingsOf(story).flatMap(linesOf), job.line];
  if (candidates.length === 0)
    return report("I5", story.id, `is stored as ${job.status}, and nobody ended it so under fence ${job.fence}`, lines);
  if (job.status === "cancelled") return;
  const field = job.status === "completed" ? "result" : "error";
  const isReported = candidates.some((end) => end.do === "settle" && end.ask[field] === job[field]);
  if (!isReported) report("I5", story.id, `is stored with another ${field} than was reported`, lines);
}

/** A settled lease leaves the fence as it was; a reclaim raises it. A cancel may have met a job that nobody held. */
function fits(end: Ending, job: StoredJob): boolean {
  if (end.do === "cancel") return true;
  return end.ask.fence + (end.ask.outcome === "lost" ? 1 : 0) === job.fence;
}

/** When all that is known of a job ends with an end, then so must the store. */
function checkLastWord({ report }: Bench, story: JobStory, job: StoredJob & Moment): void {
  const endings = endingsOf(story);
  const last = endings.findLast(happened);
  if (last === undefined || endings.some((end) => end.phase === "unknown") || isRevived(story, last.invoked, Infinity)) return;
  if (job.status === statusAfter(last)) return;
  report("I5", story.id, `ended ${statusAfter(last)}, and is stored as ${job.status}`, [...linesOf(last), job.line]);
}
