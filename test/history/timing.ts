import { countsAt, countsKnownAt } from "./attempts.ts";
import type { Bench, Family } from "./family.ts";
import {
  happened,
  isSameReport,
  type JobStory,
  leasesOf,
  linesOf,
  mayHaveHappened,
  type Op,
  type Sending,
  successionsOf,
} from "./story.ts";

// The retry curve, written down a second time on purpose: base × 2^(n−1), at most five minutes, ± 25 %, at most five minutes.
const CAP_MS = 300_000;
const JITTER = 0.25;
// After a loss: the first waits as a first retry does, the n-th somewhere between the base and this × 4^(n−2), at most five minutes.
const LOST_SPREAD_MS = 30_000;
const ROUNDING_MS = 1;
const SHORTEST_SNOOZE_MS = 1_000;

/** I7 and I8: a retry waits as long as it should, and nothing starts before its time, all by the engine's own clock. */
export const timing: Family = {
  covers: ["I7", "I8"],
  begin: (bench) => ({
    job(story) {
      checkDelays(bench, story);
      checkWaits(bench, story);
      checkDueTimes(bench, story);
      checkEngineTime(bench, story);
    },
  }),
};

function checkDelays({ report }: Bench, story: JobStory): void {
  const base = story.sendings[0]?.sent.retryDelayMs;
  const leases = new Map(leasesOf(story).map((lease) => [lease.fence, lease]));
  for (const settle of story.settles) {
    const { fence, outcome, to, delayMs } = settle.ask;
    const lease = leases.get(fence);
    if (lease === undefined || base === undefined || (to !== "retrying" && outcome !== "snooze")) continue;
    const asked = story.ends.find((end) => end.fence === fence && end.delayMs !== undefined)?.delayMs;
    const isLost = outcome === "lost";
    const counts = isLost ? countsKnownAt(story, fence, lease.lostCount) : countsAt(story, fence, lease.retryCount);
    const bounds = counts.map((count) =>
      outcome === "snooze" ? snoozeBounds(asked) : isLost ? lostBounds(base, count + 1) : retryBounds(base, count + 1, asked),
    );
    if (bounds.some(([least, most]) => delayMs !== null && delayMs >= least && delayMs <= most)) continue;
    const [least, most] = bounds[0]!;
    report("I7", story.id, `${outcome} attempt ${lease.attempt} waits ${delayMs} ms; it should be ${least} to ${most}`, [
      lease.answered.line,
      ...linesOf(settle),
    ]);
  }
}

function snoozeBounds(asked: number | undefined): [number, number] {
  return asked === undefined ? [SHORTEST_SNOOZE_MS, Infinity] : [Math.max(SHORTEST_SNOOZE_MS, asked), Math.max(SHORTEST_SNOOZE_MS, asked)];
}

function retryBounds(base: number, n: number, asked: number | undefined): [number, number] {
  if (asked !== undefined) return [asked, asked];
  let delay = base;
  for (let doubled = 1; doubled < n && delay < CAP_MS; doubled++) delay *= 2;
  delay = Math.min(delay, CAP_MS);
  return [Math.floor(delay * (1 - JITTER)) - ROUNDING_MS, Math.min(CAP_MS, Math.ceil(delay * (1 + JITTER))) + ROUNDING_MS];
}

function lostBounds(base: number, n: number): [number, number] {
  if (n === 1) return retryBounds(base, 1, undefined);
  const ends = [base, LOST_SPREAD_MS * 4 ** (n - 2)].map((end) => Math.min(end, CAP_MS));
  return [Math.min(...ends) - ROUNDING_MS, Math.max(...ends) + ROUNDING_MS];
}

/** What the settlement said is what the next lease had to wait for. */
function checkWaits({ report, options }: Bench, story: JobStory): void {
  if (story.runNows.some(mayHaveHappened)) return;
  for (const { before, settle, after } of successionsOf(story)) {
    const lines = [before.answered.line, ...linesOf(settle), after.answered.line];
    const { outcome } = settle.ask;
    // The first of its waits that ended made it due: see steps.ts.
    if (outcome === "suspend") continue;
    const delayMs = shortestDelay(story, settle);
    if (delayMs === null) {
      if (after.runAt !== before.runAt)
        report("I7", story.id, `was ${outcome === "release" ? "released" : outcome} and did not keep its due time`, lines);
      continue;
    }
    const endedAt = story.stored[0]?.attempts[before.attempt - 1]?.endedAt ?? null;
    const dueAt = outcome !== "snooze" && endedAt !== null ? endedAt + delayMs : before.startedAt + delayMs;
    const earlyMs = dueAt - after.runAt;
    if (earlyMs > options.epsilonMs) report("I7", story.id, `should have waited ${delayMs} ms, and was due ${earlyMs} ms early`, lines);
  }
}

/** A report that is said again draws another delay; which of them was heard is not known. One that leads elsewhere was not. */
function shortestDelay({ settles }: JobStory, settle: Op<"settle">): number | null {
  const same = settles.filter((other) => isSameReport(other, settle) && other.ask.to === settle.ask.to && mayHaveHappened(other));
  const delays = same.map(({ ask }) => ask.delayMs);
  return delays.reduce((shortest, delay) => (shortest === null || delay === null ? null : Math.min(shortest, delay)));
}

function checkDueTimes({ report }: Bench, story: JobStory): void {
  for (const lease of leasesOf(story)) {
    const earlyMs = lease.runAt - lease.startedAt;
    if (earlyMs > 0) report("I8", story.id, `was claimed ${earlyMs} ms before it was due`, [lease.answered.line]);
  }
  const accepted = story.sendings.find((sending) => happened(sending) && sending.answer.runAt !== undefined);
  // One that is blocked is due when it is opened.
  if (accepted === undefined || accepted.sent.isBlocked === true) return;
  const { sent, answer } = accepted;
  const first = leasesOf(story)[0];
  // The engine may have sent it again by itself, and then it is answered as it is by now: moved on, if somebody met it before the answer.
  const by = accepted.answered!.line;
  const isMet = story.settles.some((settle) => mayHaveHappened(settle) && settle.invoked.line < by);
  if (isMet || (first !== undefined && first.answered.line < by)) return;
  const wanted = Math.max(answer.createdAt!, sent.runAt ?? answer.createdAt! + sent.delayMs);
  if (answer.runAt !== wanted) report("I8", story.id, `was sent to run at ${wanted}, and is due at ${answer.runAt}`, linesOf(accepted));
  const isMoved = [...story.runNows, ...story.retries].some(mayHaveHappened);
  if (first?.fence === 1 && !isMoved && first.runAt !== answer.runAt) {
    report("I8", story.id, `was due at ${answer.runAt}, and at ${first.runAt} when it was claimed`, [
      ...linesOf(accepted),
      first.answered.line,
    ]);
  }
}

/** Times are the engine's, never the caller's: they lie between the call and its answer by that clock. */
function checkEngineTime(bench: Bench, story: JobStory): void {
  const { report } = bench;
  for (const lease of leasesOf(story)) {
    const lines = [lease.invoked.line, lease.answered.line];
    if (!isBetween(bench, lease.startedAt, lease)) report("I8", story.id, `was started at ${lease.startedAt} by another clock`, lines);
    if (lease.leaseUntil < lease.startedAt + lease.leaseMs) report("I3", story.id, `was granted for less than ${lease.leaseMs} ms`, lines);
  }
  // One that was sent again is answered as it was created, which may be long ago.
  const [sending, again] = story.sendings;
  const createdAt = sending?.answer.createdAt;
  if (sending === undefined || again !== undefined || createdAt === undefined) return;
  if (!isBetween(bench, createdAt, sending)) report("I8", story.id, `was created at ${createdAt} by another clock`, linesOf(sending));
}

function isBetween({ history, options }: Bench, time: number, { invoked, answered }: Pick<Sending, "invoked" | "answered">): boolean {
  const [from, to] = [history.clock.at(invoked.at), answered === null ? null : history.clock.at(answered.at)];
  return from === null || to === null || (time >= from - options.epsilonMs && time <= to + options.epsilonMs);
}
