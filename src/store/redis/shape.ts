/** How transitions are sent to scripts. */
import { countsTimes } from "../../core/counters.ts";
import { isPlainEnd, type Outcome, type Transition } from "../../core/lifecycle.ts";
import { OUTCOME, STATE } from "../numbers.ts";
import { encodeError } from "../stored-error.ts";

const COUNTING = { keep: 0, add: 1, reset: 2 } as const;

type ShapeField = (
  transition: Transition,
  outcome: Outcome["kind"] | null,
  ifExpired: boolean,
  isHeld: boolean,
  usesLimits: boolean,
) => number | boolean;

/** A shape is the part of a transition that many share: these numbers, in this order. Scripts read them by name. */
const SHAPE = {
  to: ({ to }) => STATE[to],
  bump: ({ bumpFence }) => bumpFence,
  giveBack: ({ giveBackAttempt }) => giveBackAttempt,
  retries: ({ retries }) => COUNTING[retries],
  losses: ({ losses }) => COUNTING[losses],
  snooze: ({ countSnooze }) => countSnooze,
  delay: ({ delayMs }) => delayMs !== null,
  result: ({ result }) => modeOf(result),
  error: ({ error }) => modeOf(error),
  errorOnlyIfRunning: ({ errorOnlyIfRunning }) => errorOnlyIfRunning,
  ends: ({ endsAttempt }) => endsAttempt,
  timed: countsTimes,
  plainEnd: isPlainEnd,
  outcome: (_, outcome) => (outcome === null ? 0 : OUTCOME[outcome]),
  ifExpired: (_transition, _outcome, ifExpired) => ifExpired,
  held: (_transition, _outcome, _ifExpired, isHeld) => isHeld,
  uses: (_transition, _outcome, _ifExpired, _isHeld, usesLimits) => usesLimits,
} as const satisfies Record<string, ShapeField>;

export const SHAPE_NAMES: readonly string[] = Object.keys(SHAPE);
const SHAPE_FIELDS: readonly ShapeField[] = Object.values(SHAPE);

export function encodeShape(...from: Parameters<ShapeField>): string[] {
  return SHAPE_FIELDS.map((read) => String(Number(read(...from))));
}

/** 0 keeps the value, 1 makes it null, 2: the value is given. */
function modeOf(value: unknown): number {
  if (value === undefined) return 0;
  return value === null ? 1 : 2;
}

export const encodeNumber = (value: number | null): string => (value === null ? "" : String(value));
export const encodeErrorText = (error: Transition["error"]): string => encodeError(error) ?? "";
