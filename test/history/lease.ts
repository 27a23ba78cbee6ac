import type { Bench, Family } from "./family.ts";
import {
  type Grant,
  happened,
  isBefore,
  isRepeat,
  isSameReport,
  type JobStory,
  leasesOf,
  linesOf,
  mayHaveHappened,
  type Op,
} from "./story.ts";

/** I3 and I4: a lease ends before the next begins, and what comes under an old fence changes nothing. */
export const lease: Family = {
  covers: ["I3", "I4"],
  begin: (bench) => ({
    job(story) {
      const leases = leasesOf(story);
      checkSameFence(bench, story);
      checkSuccession(bench, story, leases);
      checkReclaims(bench, story, leases);
      checkFencing(bench, story, leases);
      checkOneFinish(bench, story);
      checkRepeats(bench, story);
    },
  }),
};

/** One fence is one claim; only the answer to that very claim may give it again. */
function checkSameFence({ report }: Bench, { id, grants }: JobStory): void {
  const first = new Map<number, Grant>();
  for (const grant of grants) {
    const known = first.get(grant.fence);
    if (known === undefined) first.set(grant.fence, grant);
    else if (known.worker !== grant.worker || known.turn !== grant.turn) {
      report("I3", id, `fence ${grant.fence} was granted to two claims`, [known.answered.line, grant.answered.line]);
    }
  }
}

function checkSuccession({ report }: Bench, story: JobStory, leases: readonly Grant[]): void {
  for (let index = 1; index < leases.length; index++) {
    const [before, after] = [leases[index - 1]!, leases[index]!];
    const lines = [before.answered.line, after.invoked.line, after.answered.line];
    if (after.startedAt < before.startedAt) report("I3", story.id, "a later fence was granted at an earlier time", lines);
    const isEnded = endersOf(story, before.fence).some(({ invoked }) => invoked.line < after.answered.line);
    if (isEnded) continue;
    report("I3", story.id, `was granted again (fence ${after.fence}) while the lease of fence ${before.fence} had not ended`, lines);
  }
}

/** What may have ended a lease. */
function endersOf({ settles, cancels }: JobStory, fence: number): (Op<"settle"> | Op<"cancel">)[] {
  return [...settles.filter(({ ask }) => ask.fence === fence), ...cancels].filter(mayHaveHappened);
}

/** A lease that was reclaimed had run out: neither its grant nor any renewal that came before reached further. */
function checkReclaims(
  { report, history, options }: Bench,
  { id, settles, extends: renewals, stored }: JobStory,
  leases: readonly Grant[],
): void {
  for (const reclaim of settles) {
    if (!happened(reclaim) || reclaim.ask.outcome !== "lost") continue;
    const { fence } = reclaim.ask;
    const by = history.clock.at(reclaim.answered!.at);
    const grant = leases.find((lease) => lease.fence === fence);
    if (grant === undefined) continue;
    // By the times that the engine itself has stored, whatever other clocks show.
    const endedAt = stored[0]?.attempts[grant.attempt - 1]?.endedAt ?? null;
    if (endedAt !== null && endedAt < grant.leaseUntil) {
      report("I3", id, `the attempt of fence ${fence} was lost at ${endedAt}, and its lease ran until ${grant.leaseUntil}`, [
        grant.answered.line,
        ...linesOf(reclaim),
        stored[0]!.line,
      ]);
    }
    if (by === null) continue;
    if (grant.leaseUntil > by + options.epsilonMs) {
      report("I3", id, `the lease of fence ${fence} was reclaimed before its end`, [grant.answered.line, ...linesOf(reclaim)]);
    }
    for (const renewal of renewals) {
      if (renewal.ask.fence !== fence || !happened(renewal) || !isBefore(renewal, reclaim)) continue;
      const until = history.clock.at(renewal.invoked.at)! + renewal.ask.leaseMs;
      if (until > by + options.epsilonMs) {
        report("I3", id, `the lease of fence ${fence} was reclaimed although it had been renewed`, [
          ...linesOf(renewal),
          ...linesOf(reclaim),
        ]);
      }
    }
  }
}

type UnderLease = Op<"settle"> | Op<"extend"> | Op<"note"> | Op<"keep-steps"> | Op<"read-steps">;

/** Whatever was accepted under a fence came before that lease had ended, by whoever's doing. */
function checkFencing({ report }: Bench, story: JobStory, leases: readonly Grant[]): void {
  const { id, settles, extends: renewals, notes, keeps, stepReads } = story;
  for (const op of [...settles, ...renewals, ...notes, ...keeps, ...stepReads] as UnderLease[]) {
    if (!happened(op) || (op.do === "settle" && isRepeat(op, settles))) continue;
    const what = `${op.do} under fence ${op.ask.fence} was accepted after`;
    const newer = leases.find(({ fence, answered }) => fence > op.ask.fence && answered.line < op.invoked.line);
    if (newer !== undefined) report("I4", id, `${what} fence ${newer.fence} had been granted`, [newer.answered.line, ...linesOf(op)]);
    const cancel = cancelBefore(op, story, leases);
    if (cancel !== undefined) report("I4", id, `${what} its job had been cancelled`, [...linesOf(cancel), ...linesOf(op)]);
    const end = op.do === "settle" ? undefined : settles.find((settle) => isEndBefore(settle, op));
    if (end !== undefined) report("I4", id, `${what} that lease had been settled`, [...linesOf(end), ...linesOf(op)]);
  }
}

/** A cancel that met the lease under which this was said. */
function cancelBefore(op: UnderLease, { cancels }: JobStory, leases: readonly Grant[]): Op<"cancel"> | undefined {
  const grant = leases.find(({ fence }) => fence === op.ask.fence);
  if (grant === undefined) return undefined;
  return cancels.find((cancel) => happened(cancel) && isBefore(cancel, op) && grant.answered.line < cancel.invoked.line);
}

function isEndBefore(settle: Op<"settle">, op: UnderLease): boolean {
  return settle.ask.fence === op.ask.fence && happened(settle) && isBefore(settle, op);
}

function checkOneFinish({ report }: Bench, { id, settles }: JobStory): void {
  const accepted = new Map<number, Op<"settle">>();
  for (const settle of settles.filter(happened)) {
    const { fence, outcome } = settle.ask;
    const first = accepted.get(fence);
    if (first === undefined) accepted.set(fence, settle);
    else if (first.ask.outcome !== outcome) {
      report("I4", id, `fence ${fence} was settled as ${first.ask.outcome} and as ${outcome}`, [...linesOf(first), ...linesOf(settle)]);
    } else if (outcome === "lost") {
      report("I4", id, `the lease of fence ${fence} was reclaimed twice`, [...linesOf(first), ...linesOf(settle)]);
    }
  }
}

/**
 * A report that was applied and whose answer was lost is sent again, and must then be answered as success. It was applied if its lease has
 * ended and nothing else can have ended it.
 */
function checkRepeats({ report, history }: Bench, story: JobStory): void {
  const { id, settles, stored } = story;
  if (history.dumped === null) return;
  for (const refused of settles) {
    if (refused.phase !== "fail" || refused.ask.ifExpired || refused.answer.answer !== "stale") continue;
    const first = settles.find(
      (other) =>
        other.phase === "unknown" && other.answered !== null && isSameReport(other, refused) && other.answered.line < refused.invoked.line,
    );
    if (first === undefined) continue;
    const others = endersOf(story, first.ask.fence).filter((op) => op.do === "cancel" || !isSameReport(op, first));
    // A job remembers one settlement: the next one makes it forget this.
    const isForgotten = settles.some(
      (other) => other.ask.fence > first.ask.fence && mayHaveHappened(other) && other.invoked.line < refused.answered!.line,
    );
    const isEnded = stored.some(({ status }) => status === first.ask.to && isTerminalEnd(first));
    if (others.length === 0 && !isForgotten && isEnded) {
      report("I4", id, "the repeat of a report that was applied was refused", [...linesOf(first), ...linesOf(refused)]);
    }
  }
}

function isTerminalEnd({ ask }: Op<"settle">): boolean {
  return ask.to === "completed" || ask.to === "dead" || ask.to === "failed";
}
