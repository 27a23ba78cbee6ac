import { isTerminal } from "../../src/core/job.ts";
import type { Bench, Family } from "./family.ts";
import type { WorkerLife } from "./history.ts";
import type { StoredJob } from "./line.ts";
import { type Grant, happened, type JobStory, leasesOf, settlementOf } from "./story.ts";

/** A worker that heard no hint looks after its poll; and so long may everything else take on an idle machine. */
const SLACK_MS = 1_000;
const POLL_JITTER = 0.25;
/** After the last fault, so long may it take until beats, polls and upkeep go their usual way again. */
const SETTLED_AFTER_MS = 15_000;

/** I20, and the other half of I8: in calm times what is due starts while a slot is free, and what ran out is reclaimed. */
export const liveness: Family = {
  covers: ["I20", "I8"],
  begin(bench) {
    const late: { readonly lease: Grant; readonly type: string; readonly dueAt: number }[] = [];
    const busy = new Map<string, { readonly from: number; readonly to: number }[]>();
    const limited = new Set(bench.history.configures.flatMap(({ ask }) => (typeof ask.change.limits === "string" ? [ask.queue] : [])));
    const longestPollMs = Math.max(0, ...Array.from(bench.history.workers.values(), ({ up }) => up.pollMs * (1 + POLL_JITTER)));
    return {
      job(story) {
        checkEnded(bench, story);
        const sent = story.sendings[0]?.sent;
        // What has to wait for a limit is not late.
        const mayWait = sent !== undefined && (sent.limitKey !== undefined || limited.has(sent.queue));
        for (const lease of leasesOf(story)) {
          noteBusy(busy, story, lease);
          const dueAt = bench.options.timed && !mayWait ? lateDue(bench, story, lease, longestPollMs) : null;
          if (dueAt !== null) late.push({ lease, type: sent?.type ?? "", dueAt });
        }
      },
      end() {
        checkReclaimed(bench);
        for (const { lease, type, dueAt } of late) {
          const idle = [...bench.history.workers.values()].find((life) => couldHave(life, lease, type, dueAt, busy.get(life.worker) ?? []));
          if (idle === undefined) continue;
          const says = `was due ${Math.round(lease.answered.at - dueAt)} ms before it was claimed, and worker ${idle.worker} had a slot free all the time`;
          bench.report("I8", lease.job, says, [idle.up.line, lease.answered.line]);
        }
      },
    };
  },
};

/** Whether everything should have come to its end. */
export function isJudged({ history }: Bench): boolean {
  const { calm, dumped } = history;
  return calm !== null && dumped !== null && dumped.at >= calm.at + calm.boundMs;
}

function checkEnded(bench: Bench, story: JobStory): void {
  const { history, report } = bench;
  const { id, sendings, stored } = story;
  const [job] = stored;
  if (job === undefined || isTerminal(job.status) || !isJudged(bench)) return;
  // A member that waits for others: see flows.ts.
  if (job.status === "blocked" && sendings[0]?.sent.parent?.isFlow === true) return;
  const queue = history.storedQueues.find((queue) => queue.queue === job.queue);
  if (queue?.paused === true || job.runAt > history.dumped!.engine || waitsForSignals(story, job)) return;
  const since = Math.round(history.dumped!.at - history.calm!.at);
  report("I20", id, `is still ${job.status}, ${since} ms after the last fault`, [sendings[0]?.invoked.line, history.calm!.line, job.line]);
}

/** It is suspended, and can only go on with a signal: none of those came that it was last seen to wait for. */
function waitsForSignals({ settles }: JobStory, { status, fence, steps = [] }: StoredJob): boolean {
  const open = steps.filter(({ state }) => state === "open");
  const last = settles.find((op) => op.ask.fence === fence && op.ask.outcome === "suspend" && happened(op));
  const hasEnded = last?.ask.waits?.some(({ step }) => !open.some((each) => each.step === step)) === true;
  return (
    status === "blocked" && !hasEnded && open.length > 0 && open.every(({ kind, until }) => kind === "wait" && (until ?? null) === null)
  );
}

function checkReclaimed(bench: Bench): void {
  const { history, report } = bench;
  if (!isJudged(bench)) return;
  for (const job of history.dumped!.expired) {
    report("I20", job, "runs under a lease that ran out, and nobody reclaims it", [history.dumped!.line]);
  }
}

/** When the job was due, by the history's clock, if that was in calm times and it was claimed late. */
function lateDue({ history, options }: Bench, { retries, runNows }: JobStory, lease: Grant, pollMs: number): number | null {
  const engine = history.clock.at(lease.answered.at);
  if (history.calm === null || engine === null || lease.again || retries.length + runNows.length > 0) return null;
  const dueAt = lease.answered.at - (engine - lease.runAt);
  const isLate = lease.answered.at - dueAt > pollMs + SLACK_MS + options.epsilonMs;
  return isLate && dueAt >= history.calm.at + SETTLED_AFTER_MS ? dueAt : null;
}

/** By the history's clock: from when a lease may have been held until it surely was not, any more. */
function noteBusy(busy: Map<string, { from: number; to: number }[]>, story: JobStory, lease: Grant): void {
  const spans = busy.get(lease.worker) ?? [];
  busy.set(lease.worker, spans);
  spans.push({ from: lease.invoked.at, to: settlementOf(story, lease)?.answered?.at ?? Infinity });
}

/** Whether this worker served the queue and had a slot free from the due time to the claim. */
function couldHave(
  { up, stopping, killed }: WorkerLife,
  lease: Grant,
  type: string,
  dueAt: number,
  spans: readonly { from: number; to: number }[],
): boolean {
  const isThere = up.at < dueAt && [stopping, killed].every((end) => end === null || end.at > lease.answered.at);
  if (!isThere || !up.queues.includes(lease.queue) || (up.types !== "*" && !up.types.includes(type))) return false;
  const taken = spans.filter(({ from, to }) => to >= dueAt && from <= lease.answered.at).length;
  return taken < up.slots;
}
