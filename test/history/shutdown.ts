import type { Bench, Family } from "./family.ts";
import { concerns, spanOf } from "./health.ts";
import type { History, WorkerLife } from "./history.ts";
import { FREEZE } from "./line.ts";
import { type Grant, type JobStory, leasesOf, linesOf, mayHaveHappened, type Sighting } from "./story.ts";

/** The store may take so long to answer once the grace is over. */
const AFTER_GRACE_MS = 1_000;

/** I24: a worker that was told to stop claims nothing new, gives back or reports all it holds, and has stopped in time. */
export const shutdown: Family = {
  covers: ["I24"],
  begin: (bench) => {
    const ends = endsOf(bench.history);
    return {
      job(story) {
        for (const lease of leasesOf(story)) checkLeft(bench, story, lease, ends.get(lease.worker));
      },
      end() {
        for (const life of bench.history.workers.values()) {
          checkClaims(bench, life);
          checkTime(bench, life);
        }
      },
    };
  },
};

/** The end of a worker that could give back what it held. */
interface End {
  readonly stopping: Sighting<"stopping">;
  readonly stopped: Sighting<"stopped">;
}

/** Found once for each worker: to look through all claims for each lease takes longer than the run. */
function endsOf(history: History): ReadonlyMap<string, End> {
  const ends = new Map<string, End>();
  for (const { worker, stopping, stopped } of history.workers.values()) {
    if (stopping === null || stopped === null) continue;
    if (!isFrozen(history, stopping, stopped) && !isKeptWaiting(history, stopped) && !isUnheard(history, stopping, stopped))
      ends.set(worker, { stopping, stopped });
  }
  return ends;
}

/** A claim whose answer was lost may be asked for again, so that what it was granted can be given back; anything else is new. */
function checkClaims({ report, history }: Bench, { worker, up, stopping }: WorkerLife): void {
  // A claim that was begun before the stop and had to ask the store for something first reaches it later. What it brings is given back.
  if (stopping === null || up.asksForQueues === true) return;
  for (const claim of history.claims) {
    if (claim.ask.worker !== worker || claim.ask.again || claim.ask.isAfterCalls === true || claim.invoked.line < stopping.line) continue;
    report("I24", null, `worker ${worker} claimed after it had been told to stop`, [stopping.line, ...linesOf(claim)]);
  }
}

/** What a stopped worker held was reported, given back, or ended by somebody else; unless it could not reach the store. */
function checkLeft({ report, history }: Bench, story: JobStory, lease: Grant, end: End | undefined): void {
  if (end === undefined || lease.answered.line > end.stopped.line) return;
  const { stopped, stopping } = end;
  if ((history.lastUnknown.get(lease.by) ?? 0) > stopping.line) return;
  if (gaveUp(story, lease, stopping.line)) return;
  const ours = story.settles.find(
    ({ by, ask, invoked }) => by === lease.by && ask.fence === lease.fence && ask.outcome !== "lost" && invoked.line < stopped.line,
  );
  const theirs = [...story.cancels, ...story.settles.filter(({ ask }) => ask.fence === lease.fence)].find(
    (op) => mayHaveHappened(op) && op !== ours && op.invoked.line < stopped.line,
  );
  const lines = [lease.answered.line, stopping.line, stopped.line];
  if (ours === undefined && theirs === undefined) {
    return report("I24", story.id, `was left running by worker ${lease.worker}, which has stopped`, lines);
  }
  const lost = story.settles.find(({ ask, phase }) => ask.fence === lease.fence && ask.outcome === "lost" && phase === "ok");
  if (lost !== undefined && ours?.phase === "ok") {
    report("I24", story.id, "was given back at a shutdown, and counts as lost", [...lines, ...linesOf(ours), ...linesOf(lost)]);
  }
}

/** It could not renew the lease for so long that it gave it up by itself: before the stop, or after it while a renewal was under way. */
function gaveUp({ aborts, extends: renewals }: JobStory, { fence }: Grant, stoppingLine: number): boolean {
  const isUnderWay = (line: number): boolean =>
    renewals.some(({ ask, invoked, answered }) => ask.fence === fence && invoked.line < line && (answered?.line ?? Infinity) > line);
  return aborts.some((abort) => abort.fence === fence && (abort.line < stoppingLine || isUnderWay(abort.line)));
}

/** A process that was stopped for longer than a lease finds its leases gone, and has nothing to give back. */
function isFrozen({ faults }: History, { by, at: from }: Sighting<"stopping">, { at: to }: Sighting<"stopped">): boolean {
  return faults.some((fault) => fault.what === FREEZE && concerns(fault, by) && spanOf(fault).to >= from && spanOf(fault).from <= to);
}

/** Reports travel with claims: while one of those is under way, and the store does not answer, nothing more can be said. */
function isKeptWaiting({ claims }: History, { worker, line }: Sighting<"stopped">): boolean {
  return claims.some(({ ask, invoked, answered }) => ask.worker === worker && invoked.line < line && (answered?.line ?? Infinity) > line);
}

/** So do they with the report of a call, for which the store may be asked something before: that no line tells of, but for the lost answer. */
function isUnheard({ faults }: History, { by, at: from }: Sighting<"stopping">, { at: to }: Sighting<"stopped">): boolean {
  return faults.some((fault) => fault.who === by && spanOf(fault).from <= from && spanOf(fault).to >= to);
}

function checkTime({ report, options, history }: Bench, { worker, stopping, stopped, killed }: WorkerLife): void {
  if (!options.timed || stopping === null || killed !== null) return;
  const latest = stopping.at + stopping.graceMs + AFTER_GRACE_MS + options.epsilonMs;
  const end = stopped?.at ?? history.dumped?.at ?? 0;
  if (end <= latest) return;
  const isDisturbed = history.faults.some(
    (fault) => fault.who !== null && concerns(fault, stopping.by) && spanOf(fault).to >= stopping.at && spanOf(fault).from <= end,
  );
  if (isDisturbed) return;
  const says = `worker ${worker} took ${Math.round(end - stopping.at)} ms to stop; its grace was ${stopping.graceMs}`;
  report("I24", null, says, [stopping.line, stopped?.line]);
}
