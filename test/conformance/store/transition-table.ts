/**
 * Every transition that an engine may be given: those that the core makes today, and some that it may make tomorrow. An engine looks at the
 * change and not at the name of the outcome, so the names of the latter say nothing about what they do.
 */
import { withGroup } from "../../../src/core/error-group.ts";
import {
  type AttemptFacts,
  CANCEL,
  type Move,
  OPEN,
  type Outcome,
  RESTART,
  RETRY,
  retryAfter,
  RUN_NOW,
  settle,
  type Transition,
} from "../../../src/core/lifecycle.ts";
import type { NewStep } from "../../../src/core/steps.ts";
import { BOOM } from "../world.ts";
import { sleep, wait } from "./durable-work.ts";

export interface Case {
  readonly name: string;
  readonly outcome: Outcome["kind"];
  readonly transition: Transition;
  /** The steps at which the attempt was suspended. One of the name ENDED has ended before. */
  readonly waits?: readonly NewStep[];
  /** What such waits make of the transition. */
  readonly becomes?: Transition;
}

export const ENDED = "ended before";

const OUTCOMES: readonly Outcome[] = [
  { kind: "completed", result: '{"sum":3}', runMs: 250.5 },
  { kind: "completed", result: null, runMs: 0 },
  { kind: "failed", error: BOOM, runMs: 40 },
  { kind: "failed", error: BOOM, delayMs: 12_345, runMs: 41 },
  { kind: "discard", error: BOOM, runMs: 42 },
  { kind: "snooze", delayMs: 5_000 },
  { kind: "release" },
  { kind: "lost" },
];

const FACTS: readonly AttemptFacts[] = [0, 3].flatMap((retryCount) =>
  [0, 3].flatMap((lostCount) =>
    [0, 1_000].map((snoozes) => ({
      retryCount,
      maxRetries: 3,
      lostCount,
      maxLost: 3,
      retryDelayMs: 1_000,
      backoff: "exponential",
      snoozes,
    })),
  ),
);

const POLICIES = [{ deadLetters: true }, { deadLetters: false }];

/** What the core makes of every outcome, whatever is left and whatever the queue says; each transition once. */
function settled(): Case[] {
  const cases = new Map<string, Case>();
  for (const outcome of OUTCOMES) {
    for (const facts of FACTS) {
      for (const policy of POLICIES) {
        const transition = settle(facts, outcome, policy, 0.5);
        const { retryCount, lostCount, snoozes } = facts;
        const name = `${outcome.kind} after ${retryCount} retries, ${lostCount} losses, ${snoozes} snoozes → ${transition.to}`;
        const key = JSON.stringify([outcome.kind, transition]);
        if (!cases.has(key)) cases.set(key, { name, outcome: outcome.kind, transition });
      }
    }
  }
  return [...cases.values()];
}

const [PLAIN_END, RELEASE, FAILURE] = (["completed", "release", "failed"] as const).map((kind) => {
  return settle(
    FACTS[0]!,
    OUTCOMES.find((outcome) => outcome.kind === kind)!,
    POLICIES[0]!,
    0.5,
  );
}) as [Transition, Transition, Transition];

const BLOCKED: Transition = { ...OPEN.transition, to: "blocked", delayMs: null };

/** The plain end with one thing changed. */
const ends = (name: string, change: Partial<Transition>, outcome: Outcome["kind"] = "completed"): Case => {
  return { name: `an end ${name}`, outcome, transition: { ...PLAIN_END, ...change } };
};

const TOMORROW: readonly Case[] = [
  { name: "blocked, attempt given back", outcome: "release", transition: { ...BLOCKED, giveBackAttempt: true } },
  { name: "blocked, attempt kept", outcome: "snooze", transition: BLOCKED },
  { name: "blocked under the name completed", outcome: "completed", transition: { ...BLOCKED, giveBackAttempt: true } },
  { name: "blocked with the end of its attempt", outcome: "completed", transition: { ...BLOCKED, endsAttempt: true, runMs: 7 } },
  { name: "a retry under the name completed", outcome: "completed", transition: FAILURE },
  { name: "a release under the name completed", outcome: "completed", transition: RELEASE },
  { name: "a loss under the name failed", outcome: "failed", transition: settle(FACTS[0]!, { kind: "lost" }, POLICIES[0]!, 0.5) },
  { name: "no loss under the name lost", outcome: "lost", transition: FAILURE },
  { name: "a new life under the name release", outcome: "release", transition: RETRY.transition },
  { name: "a cancel under the name discard", outcome: "discard", transition: CANCEL.transition },
  ends("under the name failed", {}, "failed"),
  ends("under the name lost", {}, "lost"),
  ends("under the name release", { result: null }, "release"),
  ends("with an error", { error: withGroup(BOOM) }),
  ends("that keeps the error", { error: undefined }),
  ends("that keeps the result", { result: undefined }),
  ends("with a bumped fence", { bumpFence: true }),
  ends("that counts a retry", { retries: "add" }),
  ends("that forgets retries", { retries: "reset" }),
  ends("that counts a loss", { losses: "add" }),
  ends("that forgets losses", { losses: "reset" }),
  ends("that counts a snooze", { countSnooze: true }),
  ends("with another due time", { delayMs: 9_000 }),
  ends("without a reported run time", { runMs: null }),
  ends("as dead", { to: "dead" }),
];

/** A suspension at these waits, and what they make of it. */
const suspended = (name: string, waits: readonly NewStep[], change: Partial<Transition>): Case => {
  const transition = settle(FACTS[0]!, { kind: "suspend", waits, calls: [] }, POLICIES[0]!, 0.5);
  return { name: `suspended ${name}`, outcome: "suspend", transition, waits, becomes: { ...transition, ...change } };
};

const SUSPENDED: readonly Case[] = [
  suspended("without a time", [wait("w"), wait("v")], { to: "blocked", delayMs: null }),
  suspended("with a time", [wait("w", 9_000), wait("v"), sleep("s", 4_000)], { to: "blocked", delayMs: 4_000 }),
  suspended("at sleeps", [sleep("s", 9_000), sleep("t", 4_000)], { to: "scheduled", delayMs: 4_000 }),
  suspended("at a wait that has ended", [wait("w", 9_000), wait(ENDED)], { to: "pending", delayMs: 0 }),
  suspended("at a sleep that has ended", [sleep(ENDED, 9_000)], { to: "pending", delayMs: 0 }),
];

export const CASES: readonly Case[] = [...settled(), ...TOMORROW, ...SUSPENDED];

export const MOVES: Readonly<Record<string, Move>> = {
  CANCEL,
  RETRY,
  RESTART,
  RUN_NOW,
  OPEN,
  "RETRY for later": retryAfter(4_000),
  "OPEN for later": { ...OPEN, transition: { ...OPEN.transition, to: "scheduled", delayMs: 4_000 } },
  "a block": { from: ["scheduled", "pending", "retrying"], transition: BLOCKED },
};
