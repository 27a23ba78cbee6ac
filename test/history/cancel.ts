import { TERMINAL } from "../../src/core/job.ts";
import type { Bench, Family } from "./family.ts";
import { concerns, spanOf } from "./health.ts";
import { happened, type JobStory, lastLine, leasesOf, linesOf, mayHaveHappened, type Op } from "./story.ts";

/** One beat of a heartbeat, at the longest; a third of a shorter lease. */
const LONGEST_BEAT_MS = 5_000;
const SLACK_MS = 1_000;

/** I16: a cancelled job is not claimed any more, its running handler is told within a beat, and what has ended cannot be cancelled. */
export const cancel: Family = {
  covers: ["I16"],
  begin: (bench) => ({
    job(story) {
      for (const cancel of story.cancels.filter(happened)) {
        const { was } = cancel.answer;
        if (was !== undefined && TERMINAL.includes(was))
          bench.report("I16", story.id, `was cancelled after it had ended ${was}`, linesOf(cancel));
        checkNoStart(bench, story, cancel);
        if (was === "running" && bench.options.timed) checkTold(bench, story, cancel);
      }
    },
  }),
};

function checkNoStart({ report }: Bench, story: JobStory, cancel: Op<"cancel">): void {
  const { id, retries, stored } = story;
  const isRevived = (before: number): boolean =>
    retries.some((retry) => mayHaveHappened(retry) && lastLine(retry) > cancel.invoked.line && retry.invoked.line < before);
  const lease = leasesOf(story).find((lease) => lease.invoked.line > cancel.answered!.line && !isRevived(lease.answered.line));
  if (lease !== undefined) report("I16", id, "was claimed after it had been cancelled", [...linesOf(cancel), lease.answered.line]);
  const job = stored[0];
  if (job === undefined || job.status === "cancelled" || isRevived(Infinity)) return;
  report("I16", id, `was cancelled, and is stored as ${job.status}`, [...linesOf(cancel), job.line]);
}

/** Only where nothing was done to the holder or to the store meanwhile: a process that is cut off cannot be told. */
function checkTold({ report, history, options }: Bench, story: JobStory, cancel: Op<"cancel">): void {
  const { id, starts, ends, aborts } = story;
  const lease = leasesOf(story).findLast(({ answered }) => answered.line < cancel.invoked.line);
  const start = starts.find(({ fence, line }) => fence === lease?.fence && line < cancel.invoked.line);
  if (lease === undefined || start === undefined) return;
  const { killed = null, stopped = null } = history.workers.get(lease.worker) ?? {};
  if (killed !== null) return;
  const byThen = cancel.answered!.at + Math.min(LONGEST_BEAT_MS, lease.leaseMs / 3) + SLACK_MS + options.epsilonMs;
  const isTold = [...ends, ...aborts].some(({ fence, at }) => fence === lease.fence && at <= byThen);
  const isDisturbed = history.faults.some((fault) => {
    const { from, to } = spanOf(fault);
    return concerns(fault, start.by) && from <= byThen && to >= cancel.invoked.at;
  });
  // The handler of a worker that has stopped is nobody's any more.
  const end = stopped ?? history.dumped;
  if (isTold || isDisturbed || end === null || end.at < byThen) return;
  report("I16", id, "was cancelled, and its handler was not told within a beat", [start.line, ...linesOf(cancel)]);
}
