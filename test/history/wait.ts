import { WAITING } from "../../src/core/job.ts";
import { fenceStep, happened, type Grant, type JobStory, lastLine, leasesOf, mayHaveHappened, settlementOf } from "./story.ts";

/** A stretch of the history in which a job surely waited: from the line that says so to the first that may end it. */
export interface Wait {
  readonly job: string;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly limitKey: string | null;
  /** When it is due by the engine's clock, if that is known. */
  readonly runAt: number | null;
  /** Claimable all the time, and not only waiting for its time. */
  readonly isPending: boolean;
  readonly from: number;
  /** The time of that line. */
  readonly fromAt: number;
  readonly to: number;
  /** Set for the first wait of a job: the line at which it was surely stored. */
  readonly storedBy: number | null;
}

/** The stretches in which a job surely waited. Where a claim of which nobody heard may have taken it, it is not sure. */
export function waitsOf(story: JobStory): Wait[] {
  const sending = story.sendings.find((sending) => happened(sending) && sending.answered !== null);
  if (sending === undefined) return [];
  const leases = leasesOf(story);
  const { queue, type, priority, limitKey = null } = sending.sent;
  const about = { job: story.id, queue, type, priority, limitKey };
  const waits: Wait[] = [];
  const first = leases[0];
  if (first?.fence === 1 && sending.sent.isBlocked === undefined) {
    // A called job comes with the suspension of its caller, which is not answered with its status.
    const isLater = sending.sent.delayMs > 0 || sending.sent.runAt !== null;
    const isPending = (sending.answer.status ?? (isLater ? "scheduled" : "pending")) === "pending";
    waits.push({
      ...about,
      runAt: sending.answer.runAt ?? first.runAt,
      isPending,
      from: sending.answered!.line,
      fromAt: sending.answered!.at,
      to: endOf(story, sending.answered!.line, first),
      storedBy: lastLine(sending),
    });
  }
  for (const [index, before] of leases.entries()) {
    const settle = settlementOf(story, before);
    const after = leases[index + 1];
    if (settle === null || after === undefined || settle.answered === null || !WAITING.includes(settle.ask.to)) continue;
    if (after.fence !== before.fence + fenceStep(settle)) continue;
    const { line: from, at: fromAt } = settle.answered;
    const isPending = settle.ask.to === "pending";
    waits.push({ ...about, runAt: after.runAt, isPending, from, fromAt, to: endOf(story, from, after), storedBy: null });
  }
  return waits.filter(({ from, to }) => to > from);
}

/** The claim that took it, or an earlier call that may have. */
function endOf({ cancels, removes, retries, runNows }: JobStory, from: number, taken: Grant): number {
  const changes = [...cancels, ...removes, ...retries, ...runNows].filter(
    (op) => mayHaveHappened(op) && (op.answered === null || op.phase === "unknown" || op.answered.line > from),
  );
  return Math.min(taken.invoked.line, ...changes.map(({ invoked }) => invoked.line));
}
