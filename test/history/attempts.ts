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

/** I6: failed and lost attempts are counted and bounded; what was released or snoozed costs nothing; the history has each attempt once. */
export const attempts: Family = {
  covers: ["I6"],
  begin: (bench) => ({
    job(story) {
      checkBound(bench, story);
      checkCounting(bench, story);
      for (const job of story.stored) checkStoredAttempts(bench, story, job);
    },
  }),
};

function checkBound({ report }: Bench, story: JobStory): void {
  const { id, sendings, retries } = story;
  const [sending] = sendings;
  if (sending === undefined) return;
  const { maxRetries } = sending.sent;
  for (const lease of leasesOf(story)) {
    if (lease.retryCount > maxRetries) {
      report("I6", id, `was claimed after ${lease.retryCount} retries; ${maxRetries} are allowed`, [
        sending.invoked.line,
        lease.answered.line,
      ]);
    }
  }
  const failures = failuresOf(story);
  const lives = retries.filter(mayHaveHappened);
  const parts = splitByLife(story, failures, lives) ?? [failures];
  const allowed = (maxRetries + 1) * (parts.length === 1 ? lives.length + 1 : 1);
  for (const part of parts) {
    if (part.length > allowed) report("I6", id, `failed ${part.length} times; ${allowed} are allowed`, part.flatMap(linesOf));
  }
}

/** The attempts that surely failed or were lost, each once. */
function failuresOf({ settles }: JobStory): Op<"settle">[] {
  const byFence = new Map<number, Op<"settle">>();
  for (const settle of settles) {
    const { outcome, fence } = settle.ask;
    const isFailure = outcome === "failed" || outcome === "lost" || outcome === "discard";
    if (isFailure && happened(settle) && !byFence.has(fence)) byFence.set(fence, settle);
  }
  return [...byFence.values()];
}

/** By the life in which each lease was granted; null when it cannot be told, for then only the sum can be judged. */
function splitByLife(story: JobStory, failures: readonly Op<"settle">[], lives: readonly Op<"retry">[]): Op<"settle">[][] | null {
  const parts: Op<"settle">[][] = Array.from({ length: lives.length + 1 }, () => []);
  const leases = new Map(leasesOf(story).map((lease) => [lease.fence, lease]));
  for (const failure of failures) {
    const lease = leases.get(failure.ask.fence);
    const isClear =
      lease !== undefined && lives.every((life) => lastLine(life) < lease.invoked.line || lease.answered.line < life.invoked.line);
    if (!isClear) return null;
    parts[lives.filter((life) => lastLine(life) < lease.invoked.line).length]!.push(failure);
  }
  return parts;
}

function checkCounting({ report }: Bench, story: JobStory): void {
  for (const { before, settle, after } of successionsOf(story)) {
    const cost = settle.ask.outcome === "release" || settle.ask.outcome === "snooze" ? 0 : 1;
    const lines = [before.answered.line, ...linesOf(settle), after.answered.line];
    if (after.attempt !== before.attempt + cost) {
      report(
        "I6",
        story.id,
        `attempt ${before.attempt} ended as ${settle.ask.outcome} and was followed by attempt ${after.attempt}`,
        lines,
      );
    }
    if (after.retryCount !== before.retryCount + cost) {
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
