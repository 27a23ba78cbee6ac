import { type Grant, type JobStory, leasesOf, mayHaveHappened, type Op, type Sending } from "./story.ts";

/** What may have happened unseen by those who write, because an engine that lost an answer asks again by itself. */
export function doubtSelfRepeats(story: JobStory): JobStory {
  const leases = leasesOf(story);
  return {
    ...story,
    sendings: story.sendings.map((sending) => (isOwnTick(sending) ? { ...sending, phase: "unknown" } : sending)),
    settles: story.settles.map((settle) => (isForgotten(story, leases, settle) ? { ...settle, phase: "unknown" } : settle)),
    keeps: story.keeps.map((keep) => (isOverBy(keep) ? { ...keep, phase: "unknown" } : keep)),
    stepEnds: story.stepEnds.map((end) => (isRefused(end) ? { ...end, phase: "unknown" } : end)),
    cancels: story.cancels.map((cancel) => (isOwnCancel(cancel) ? { ...cancel, phase: "unknown" } : cancel)),
    retries: story.retries.flatMap((retry) => (isMetAgain(leases, retry) ? [retry, { ...retry, phase: "unknown" }] : [retry])),
  };
}

/**
 * The job remembers its last settlement, so that the repeat of a report is answered as success; but when the next lease was granted and
 * settled in the meantime, it has forgotten, and the repeat is refused. Then nobody knows whether the report was applied, if it began while
 * its lease was still the newest.
 */
function isForgotten({ settles }: JobStory, leases: readonly Grant[], { ask, answer, phase, invoked, answered }: Op<"settle">): boolean {
  if (phase !== "fail" || ask.ifExpired || answer.answer !== "stale" || answered === null) return false;
  const isLate = leases.some((lease) => lease.fence > ask.fence && lease.answered.line < invoked.line);
  if (isLate) return false;
  return settles.some((other) => other.ask.fence > ask.fence && mayHaveHappened(other) && other.invoked.line < answered.line);
}

/** A tick that is asked for again when the first has come true is told that somebody was faster: that may have been itself. */
function isOwnTick({ schedule, phase, answer }: Sending): boolean {
  return schedule !== null && phase === "fail" && answer.kind !== "full";
}

/** A step that is stored again when its lease has ended meanwhile. */
function isOverBy({ phase, answer }: Op<"keep-steps">): boolean {
  return phase === "fail" && (answer.answer === "stale" || answer.answer === "cancelled");
}

/** A signal that is sent again when its job has ended, or is gone, with it. */
function isRefused({ phase, answer }: Op<"end-step">): boolean {
  return phase === "fail" && (answer.kind === "refused" || answer.kind === "missing");
}

/** So is a cancel that is asked for again: it finds the job cancelled, perhaps by itself. */
function isOwnCancel({ phase, answer }: Op<"cancel">): boolean {
  return phase === "fail" && answer.status === "cancelled";
}

/** A retry by hand whose repeat meets the job when it has run and died once more gives it another life. */
function isMetAgain(leases: readonly Grant[], retry: Op<"retry">): boolean {
  const until = retry.answered?.line ?? Infinity;
  return mayHaveHappened(retry) && leases.some(({ answered }) => answered.line > retry.invoked.line && answered.line < until);
}
