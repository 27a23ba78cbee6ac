import type { Bench, Family } from "./family.ts";
import type { StoredAttempt, StoredJob } from "./line.ts";
import {
  happened,
  type JobStory,
  lastLine,
  leasesOf,
  linesOf,
  mayHaveHappened,
  type Moment,
  type Op,
  settlementOf,
  successionsOf,
} from "./story.ts";

/**
 * I6: failed attempts and lost ones are counted and bounded, each by a count of their own; what was released or snoozed costs nothing; the
 * history has each attempt once.
 */
export const attempts: Family = {
  covers: ["I6"],
  begin: (bench) => ({
    job(story) {
      checkBound(bench, story);
      checkCounting(bench, story);
      checkLosses(bench, story);
      for (const job of story.stored) checkStoredAttempts(bench, story, job);
    },
  }),
};

function checkBound({ report }: Bench, story: JobStory): void {
  const { id, sendings, retries } = story;
  const [sending] = sendings;
  if (sending === undefined) return;
  const { maxRetries, maxLost } = sending.sent;
  for (const lease of leasesOf(story)) {
    const lines = [sending.invoked.line, lease.answered.line];
    if (lease.retryCount > maxRetries) report("I6", id, `was claimed after ${lease.retryCount} retries; ${maxRetries} are allowed`, lines);
    if (lease.lostCount > maxLost) report("I6", id, `was claimed after ${lease.lostCount} losses; ${maxLost} are allowed`, lines);
  }
  const lives = retries.filter(mayHaveHappened);
  for (const [how, outcomes, most] of [
    ["failed", ["failed", "discard"], maxRetries],
    ["was lost", ["lost"], maxLost],
  ] as const) {
    // A step that was stored, or a wait that has ended, is progress: then both count from 0 again.
    if (hasProgress(story)) continue;
    const ended = endedAs(story, outcomes);
    const parts = splitByLife(story, ended, lives) ?? [ended];
    const allowed = (most + 1) * (parts.length === 1 ? lives.length + 1 : 1);
    for (const part of parts) {
      if (part.length > allowed) report("I6", id, `${how} ${part.length} times; ${allowed} are allowed`, part.flatMap(linesOf));
    }
  }
}

function hasProgress({ keeps, settles }: JobStory): boolean {
  return [...keeps, ...settles.filter(({ ask }) => ask.outcome === "suspend")].some(mayHaveHappened);
}

/** What a count of retries or losses may have been at the end of a lease: a step that was stored set it to 0. */
export function countsAt({ keeps }: JobStory, fence: number, count: number): readonly number[] {
  const kept = keeps.filter((keep) => keep.ask.fence === fence && mayHaveHappened(keep));
  if (kept.length === 0) return [count];
  return kept.some(happened) ? [0] : [count, 0];
}

/** The same, as whoever ended it may have known it: upkeep may have read the job before the step was stored. */
export function countsKnownAt(story: JobStory, fence: number, count: number): readonly number[] {
  return [...countsAt(story, fence, count), count];
}

/** The attempts that surely ended in one of these ways, each once. */
function endedAs({ settles }: JobStory, outcomes: readonly string[]): Op<"settle">[] {
  const byFence = new Map<number, Op<"settle">>();
  for (const settle of settles) {
    const { outcome, fence } = settle.ask;
    if (outcomes.includes(outcome) && happened(settle) && !byFence.has(fence)) byFence.set(fence, settle);
  }
  return [...byFence.values()];
}

/** A lost attempt ends the job only when it may not be lost again: a process that dies takes no job of its neighbours with it. */
function checkLosses({ report }: Bench, story: JobStory): void {
  const maxLost = story.sendings[0]?.sent.maxLost;
  if (maxLost === undefined) return;
  for (const lease of leasesOf(story)) {
    for (const settle of story.settles) {
      if (settle.ask.outcome !== "lost" || settle.ask.fence !== lease.fence || !mayHaveHappened(settle)) continue;
      const isAllowed = countsKnownAt(story, lease.fence, lease.lostCount).some(
        (count) => (settle.ask.to === "retrying") !== count >= maxLost,
      );
      if (isAllowed) continue;
      report("I6", story.id, `was lost ${lease.lostCount + 1} times, may be ${maxLost} times, and then was ${settle.ask.to}`, [
        lease.answered.line,
        ...linesOf(settle),
      ]);
    }
  }
}

/** By the life in which each lease was granted; null when it cannot be told, for then only the sum can be judged. */
function splitByLife(story: JobStory, ended: readonly Op<"settle">[], lives: readonly Op<"retry">[]): Op<"settle">[][] | null {
  const parts: Op<"settle">[][] = Array.from({ length: lives.length + 1 }, () => []);
  const leases = new Map(leasesOf(story).map((lease) => [lease.fence, lease]));
  for (const settle of ended) {
    const lease = leases.get(settle.ask.fence);
    const isClear =
      lease !== undefined && lives.every((life) => lastLine(life) < lease.invoked.line || lease.answered.line < life.invoked.line);
    if (!isClear) return null;
    parts[lives.filter((life) => lastLine(life) < lease.invoked.line).length]!.push(settle);
  }
  return parts;
}

function checkCounting({ report }: Bench, story: JobStory): void {
  for (const { before, settle, after } of successionsOf(story)) {
    const isLost = settle.ask.outcome === "lost";
    const isSuspended = settle.ask.outcome === "suspend";
    const cost = ["release", "snooze", "hold", "suspend"].includes(settle.ask.outcome) && settle.ask.to !== "retrying" ? 0 : 1;
    const lines = [before.answered.line, ...linesOf(settle), after.answered.line];
    if (after.attempt !== before.attempt + cost) {
      report(
        "I6",
        story.id,
        `attempt ${before.attempt} ended as ${settle.ask.outcome} and was followed by attempt ${after.attempt}`,
        lines,
      );
    }
    const from = (count: number): readonly number[] => (isSuspended ? [0] : countsAt(story, before.fence, count));
    if (!from(before.lostCount).includes(after.lostCount - (isLost ? 1 : 0))) {
      const says = `loss ${before.lostCount} ended as ${settle.ask.outcome} and was followed by loss ${after.lostCount}`;
      report("I6", story.id, says, lines);
    }
    if (!from(before.retryCount).includes(after.retryCount - (isLost ? 0 : cost))) {
      report(
        "I6",
        story.id,
        `retry ${before.retryCount} ended as ${settle.ask.outcome} and was followed by retry ${after.retryCount}`,
        lines,
      );
    }
  }
}

function checkStoredAttempts({ report }: Bench, story: JobStory, job: StoredJob & Moment): void {
  const numbers = job.attempts.map(({ number }) => number);
  const isWhole = numbers.length === job.attempt && numbers.every((number, index) => number === index + 1);
  const listed = numbers.join(", ") || "none";
  if (!isWhole) report("I6", story.id, `has made ${job.attempt} attempts, and its history lists ${listed}`, [job.line]);
  for (const lease of leasesOf(story)) {
    const settle = settlementOf(story, lease);
    const entry = job.attempts[lease.attempt - 1];
    if (settle === null || entry === undefined || tells(entry, settle)) continue;
    const told = entry.kind === null ? entry.outcome : `${entry.outcome} (${entry.kind})`;
    const says = `attempt ${lease.attempt} ended as ${settle.ask.outcome}, and its history says ${told}`;
    report("I6", story.id, says, [lease.answered.line, ...linesOf(settle), job.line]);
  }
}

/** A released or snoozed attempt leaves its number to the next. */
function tells(entry: StoredAttempt, { ask }: Op<"settle">): boolean {
  switch (ask.outcome) {
    case "release":
    case "snooze":
    case "hold":
    case "suspend":
      return true;
    case "completed":
      return entry.outcome === "completed";
    case "lost":
      return entry.outcome === "failed" && entry.kind === "lost";
    case "failed":
    case "discard":
      return entry.outcome === "failed" && entry.kind !== "lost";
  }
}
