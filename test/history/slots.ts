import type { Bench, Family } from "./family.ts";
import type { JobStory } from "./story.ts";

/** A stretch of the history, by lines, in which a handler surely ran and nobody had told it to stop. */
interface Run {
  readonly job: string;
  readonly from: number;
  readonly to: number;
}

/** I18: the handlers that a worker runs at one time are never more than its slots. */
export const slots: Family = {
  covers: ["I18"],
  begin(bench) {
    const running = new Map<string, Run[]>();
    return {
      job(story) {
        for (const start of story.starts) {
          const runs = running.get(start.worker) ?? [];
          running.set(start.worker, runs);
          runs.push({ job: story.id, from: start.line, to: endOf(story, start.fence) });
        }
      },
      end() {
        for (const { worker, up } of bench.history.workers.values()) checkRuns(bench, worker, up.slots, running.get(worker) ?? []);
      },
    };
  },
};

/** An aborted handler has its slot for a while yet, but nobody knows for how long. */
function endOf({ ends, aborts }: JobStory, fence: number): number {
  return Math.min(Infinity, ...[...ends, ...aborts].filter((seen) => seen.fence === fence).map(({ line }) => line));
}

function checkRuns({ report }: Bench, worker: string, most: number, runs: Run[]): void {
  runs.sort((a, b) => a.from - b.from);
  let present: Run[] = [];
  for (const run of runs) {
    present = present.filter(({ to }) => to > run.from);
    present.push(run);
    if (present.length <= most) continue;
    const lines = present.map(({ from }) => from);
    return report("I18", run.job, `worker ${worker} has ${most} slots and runs ${present.length} handlers`, lines);
  }
}
