import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AttemptError, isTerminal, STATUSES, TERMINAL, WAITING } from "../../../src/core/job.ts";
import {
  type AttemptFacts,
  CANCEL,
  isPlainEnd,
  MAX_SNOOZES,
  MIN_SNOOZE_MS,
  type Outcome,
  OPEN,
  RETRY,
  RUN_NOW,
  settle,
  type Transition,
} from "../../../src/core/lifecycle.ts";
import { RETRY_CAP_MS } from "../../../src/core/retry.ts";

const facts: AttemptFacts = {
  retryCount: 0,
  maxRetries: 3,
  lostCount: 0,
  maxLost: 3,
  retryDelayMs: 1000,
  backoff: "exponential",
  snoozes: 0,
};
const spent: AttemptFacts = { ...facts, retryCount: 3 };
const error: AttemptError = { name: "Error", message: "boom", stack: null, kind: "error" };
const failed: Outcome = { kind: "failed", error, runMs: 5 };
const keep = { deadLetters: true };
const drop = { deadLetters: false };

describe("what follows when an attempt", () => {
  test("failed: the delay doubles with each retry, unless its backoff is fixed", () => {
    const delays = (backoff: string): (number | null)[] =>
      [0, 1, 2].map((retryCount) => settle({ ...facts, retryCount, backoff }, failed, keep, 0.5).delayMs);
    expect(delays("exponential")).toEqual([1000, 2000, 4000]);
    expect(delays("fixed")).toEqual([1000, 1000, 1000]);
    // A name that the worker did not know.
    expect(delays("slowly")).toEqual([1000, 2000, 4000]);
  });

  test("completed: the job is, with its result and without an error", () => {
    expect(settle(facts, { kind: "completed", result: "1", runMs: 7 }, keep, 0)).toMatchObject({
      to: "completed",
      result: "1",
      error: null,
      endsAttempt: true,
      runMs: 7,
      bumpFence: false,
    });
  });

  test("failed and retries remain: it is tried again, after the stored curve", () => {
    expect(settle(facts, failed, keep, 0.5)).toMatchObject({ to: "retrying", retries: "add", delayMs: 1000, error, endsAttempt: true });
    expect(settle({ ...facts, retryCount: 2 }, failed, keep, 0.5).delayMs).toBe(4000);
  });

  test("failed and says when: that time counts", () => {
    expect(settle(facts, { ...failed, delayMs: 0 }, keep, 0.5).delayMs).toBe(0);
    expect(settle(facts, { ...failed, delayMs: RETRY_CAP_MS * 10 }, keep, 0.5).delayMs).toBe(RETRY_CAP_MS * 10);
  });

  test("failed for the last time: the job is dead, or failed where there are no dead letters", () => {
    expect(settle(spent, failed, keep, 0)).toMatchObject({ to: "dead", error, retries: "keep", delayMs: null });
    expect(settle(spent, failed, drop, 0)).toMatchObject({ to: "failed", error });
  });

  test("was discarded: nothing is tried again, whatever remains", () => {
    expect(settle(facts, { kind: "discard", error, runMs: 1 }, keep, 0).to).toBe("dead");
    expect(settle(facts, { kind: "discard", error, runMs: 1 }, drop, 0).to).toBe("failed");
  });

  test("was given back: it costs nothing, keeps its rank, and the old holder is not heard again", () => {
    expect(settle(facts, { kind: "release" }, keep, 0)).toMatchObject({
      to: "pending",
      giveBackAttempt: true,
      bumpFence: true,
      retries: "keep",
      delayMs: null,
      endsAttempt: false,
    });
  });

  test("was snoozed: it costs no attempt, and takes a second at least", () => {
    expect(settle(facts, { kind: "snooze", delayMs: 5000 }, keep, 0)).toMatchObject({
      to: "scheduled",
      giveBackAttempt: true,
      countSnooze: true,
      delayMs: 5000,
    });
    expect(settle(facts, { kind: "snooze", delayMs: 0 }, keep, 0).delayMs).toBe(MIN_SNOOZE_MS);
  });

  test("held its limit key: it keeps its place and costs no attempt, but counts as a snooze", () => {
    const held = settle(facts, { kind: "hold", delayMs: 30_000 }, keep, 0);
    expect(held).toMatchObject({
      to: "pending",
      giveBackAttempt: true,
      countSnooze: true,
      bumpFence: true,
      delayMs: null,
      endsAttempt: false,
    });
    expect(held).toMatchObject({ retries: "keep", losses: "keep", result: undefined, error: undefined });
  });

  test("held its limit key once too often: it has failed", () => {
    expect(settle({ ...facts, snoozes: MAX_SNOOZES - 1 }, { kind: "hold", delayMs: 1000 }, keep, 0).to).toBe("pending");
    const outcome: Outcome = { kind: "hold", delayMs: 1000 };
    expect(settle({ ...facts, snoozes: MAX_SNOOZES }, outcome, keep, 0)).toMatchObject({
      to: "retrying",
      retries: "add",
      error: { name: "TooManySnoozes" },
    });
    expect(settle({ ...spent, snoozes: MAX_SNOOZES }, outcome, keep, 0).to).toBe("dead");
    expect(settle({ ...spent, snoozes: MAX_SNOOZES }, outcome, drop, 0).to).toBe("failed");
  });

  test("was snoozed once too often: it has failed", () => {
    expect(settle({ ...facts, snoozes: MAX_SNOOZES - 1 }, { kind: "snooze", delayMs: 1000 }, keep, 0).to).toBe("scheduled");
    expect(settle({ ...facts, snoozes: MAX_SNOOZES }, { kind: "snooze", delayMs: 1000 }, keep, 0)).toMatchObject({
      to: "retrying",
      error: { name: "TooManySnoozes" },
    });
  });

  test("was lost: it runs again after the retry delay, no retry is spent, and the fence moves", () => {
    const again = { to: "retrying", retries: "keep", losses: "add", delayMs: 1000, bumpFence: true, endsAttempt: true };
    expect(settle(facts, { kind: "lost" }, keep, 0.5)).toMatchObject({ ...again, error: { name: "LeaseLost", kind: "lost" } });
    expect(settle(spent, { kind: "lost" }, keep, 0.5)).toMatchObject(again);
  });

  test("was lost again: it comes back at a time of its own, further away each time", () => {
    const delayAfter = (losses: number, random: number): number | null =>
      settle({ ...facts, maxLost: 100, lostCount: losses - 1 }, { kind: "lost" }, keep, random).delayMs;
    expect([1, 2, 3, 4].map((losses) => delayAfter(losses, 0.5))).toEqual([1000, 15_500, 60_500, 150_500]);
    expect([2, 3, 100].map((losses) => delayAfter(losses, 0))).toEqual([1000, 1000, 1000]);
  });

  test("was lost too often: the job is dead, or failed where there are no dead letters, and says why", () => {
    const last = { ...facts, lostCount: 3 };
    const error = {
      name: "LeaseLost",
      kind: "lost",
      message: expect.stringContaining("died or was cut off 4 times while it ran") as string,
    };
    expect(settle(last, { kind: "lost" }, keep, 0)).toMatchObject({ to: "dead", losses: "add", retries: "keep", bumpFence: true, error });
    expect(settle(last, { kind: "lost" }, drop, 0)).toMatchObject({ to: "failed", losses: "add", bumpFence: true, error });
    expect(settle({ ...facts, maxLost: 0 }, { kind: "lost" }, keep, 0)).toMatchObject({
      to: "dead",
      error: { message: "its worker died or was cut off once while it ran: find out what ended that worker, then retry the job" },
    });
  });

  test("was lost in any number of losses: jobs that died of it are one group of errors", () => {
    const groupAfter = (lostCount: number): string | undefined => settle({ ...facts, lostCount }, { kind: "lost" }, keep, 0).error?.group;
    expect(groupAfter(3)).toBe(groupAfter(7));
    expect(groupAfter(3)).not.toBe(groupAfter(0));
  });

  test("ended in any way: the job takes a lawful step, and never runs more often than was allowed", () => {
    const outcome = fc.oneof(
      fc.constant<Outcome>({ kind: "completed", result: null, runMs: 1 }),
      fc.constant(failed),
      fc.constant<Outcome>({ kind: "discard", error, runMs: 1 }),
      fc.constant<Outcome>({ kind: "snooze", delayMs: 1000 }),
      fc.constant<Outcome>({ kind: "hold", delayMs: 1000 }),
      fc.constant<Outcome>({ kind: "release" }),
      fc.constant<Outcome>({ kind: "lost" }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.nat(100), { minLength: 4, maxLength: 4 }),
        fc.nat(1000),
        outcome,
        fc.boolean(),
        (counts, snoozes, ended, deadLetters) => {
          const [retryCount, maxRetries, lostCount, maxLost] = counts as [number, number, number, number];
          const job = { retryCount, maxRetries, lostCount, maxLost, snoozes, retryDelayMs: 1000, backoff: "exponential" };
          const after = settle(job, ended, { deadLetters }, 0.3);
          expect(["completed", "retrying", "dead", "failed", "pending", "scheduled"]).toContain(after.to);
          // Whatever runs again spends one of what is left: a loss for a lost one, a retry for any other.
          if (after.to === "retrying" && ended.kind === "lost")
            expect([lostCount < maxLost, after.losses, after.retries]).toEqual([true, "add", "keep"]);
          else if (after.to === "retrying") expect([retryCount < maxRetries, after.losses, after.retries]).toEqual([true, "keep", "add"]);
          if (after.to === "dead") expect(deadLetters).toBe(true);
          if (after.to === "failed") expect(deadLetters).toBe(false);
          // Whoever is not asked to go on holding the lease is either done or fenced off.
          if (ended.kind === "lost" || ended.kind === "release") expect(after.bumpFence).toBe(true);
        },
      ),
    );
  });
});

describe("the plain end", () => {
  const plain = settle(facts, { kind: "completed", result: "1", runMs: 7 }, keep, 0);

  test("is what follows a completed attempt, whatever it gave and however long it ran", () => {
    expect(isPlainEnd(plain)).toBe(true);
    expect(isPlainEnd({ ...plain, result: null, runMs: 0 })).toBe(true);
  });

  /** One value of each field with which it is another end, or none. */
  const OTHER: { readonly [Name in keyof Transition]: Transition[Name] } = {
    to: "dead",
    bumpFence: true,
    giveBackAttempt: true,
    retries: "reset",
    losses: "add",
    countSnooze: true,
    delayMs: 0,
    result: undefined,
    error: undefined,
    errorOnlyIfRunning: true,
    endsAttempt: false,
    runMs: null,
  };

  test.each(Object.keys(OTHER) as (keyof Transition)[])("is not one that differs in %s", (name) => {
    expect(isPlainEnd({ ...plain, [name]: OTHER[name] })).toBe(false);
  });
});

describe("a change by hand", () => {
  test("cancels whatever has not ended, and fences off a holder", () => {
    expect([...CANCEL.from].sort()).toEqual(STATUSES.filter((status) => !isTerminal(status)).sort());
    expect(CANCEL.transition).toMatchObject({ to: "cancelled", bumpFence: true, errorOnlyIfRunning: true });
  });

  test("gives a new life to what went wrong, not to what was completed", () => {
    expect([...RETRY.from].sort()).toEqual(["cancelled", "dead", "failed"]);
    expect(RETRY.transition).toMatchObject({ to: "pending", retries: "reset", losses: "reset", delayMs: 0 });
  });

  test("starts a waiting job at once without giving back its retries", () => {
    expect([...RUN_NOW.from].sort()).toEqual(["retrying", "scheduled"]);
    expect(RUN_NOW.transition).toMatchObject({ to: "pending", retries: "keep", losses: "keep", delayMs: 0 });
  });

  test("opens a blocked job, and nothing else", () => {
    expect(OPEN).toMatchObject({
      from: ["blocked"],
      transition: { to: "pending", delayMs: 0, retries: "keep", losses: "keep", bumpFence: false },
    });
  });

  test("and every status is either waiting, running, blocked or an end", () => {
    expect([...WAITING, "running", "blocked", ...TERMINAL].sort()).toEqual([...STATUSES].sort());
  });
});
