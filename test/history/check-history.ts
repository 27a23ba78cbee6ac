import { attempts } from "./attempts.ts";
import { cancel } from "./cancel.ts";
import { calls } from "./calls.ts";
import { capacity } from "./capacity.ts";
import { counters } from "./counters.ts";
import { deadLetters } from "./dead-letters.ts";
import { ending } from "./ending.ts";
import type { CheckOptions, Family } from "./family.ts";
import { flows } from "./flows.ts";
import { History } from "./history.ts";
import { keys } from "./keys.ts";
import { lease } from "./lease.ts";
import { limits } from "./limits.ts";
import type { Line } from "./line.ts";
import { liveness } from "./liveness.ts";
import { loss } from "./loss.ts";
import { order } from "./order.ts";
import { progress } from "./progress.ts";
import { readHistory } from "./read-history.ts";
import { mayBeReborn } from "./reborn.ts";
import { doubtSelfRepeats } from "./self-repeats.ts";
import { shutdown } from "./shutdown.ts";
import { slots } from "./slots.ts";
import { steps } from "./steps.ts";
import { isFlow } from "./story.ts";
import { ticks } from "./ticks.ts";
import { timing } from "./timing.ts";
import { describeViolation, type Violation, Violations } from "./violation.ts";

/** Every family of invariants. */
export const FAMILIES: readonly Family[] = [
  loss,
  lease,
  ending,
  attempts,
  timing,
  order,
  keys,
  ticks,
  deadLetters,
  counters,
  cancel,
  capacity,
  slots,
  limits,
  liveness,
  shutdown,
  progress,
  steps,
  calls,
  flows,
];

export interface HistoryOptions extends Partial<CheckOptions> {
  /** How much of a history is kept in memory; the rest goes to temporary files. */
  readonly mostInMemory?: number;
  /** Whether the store under the recorder asks again by itself when an answer is lost, as engines with a server do. */
  readonly repeatsByItself?: boolean;
}

const DEFAULTS: CheckOptions = { epsilonMs: 50, timed: false, overlookMs: 0, slackTurns: 0 };

/** Checks a history against every invariant. */
export function checkHistory(lines: Iterable<Line>, options: HistoryOptions = {}): readonly Violation[] {
  const history = History.of(lines, options.mostInMemory);
  try {
    const violations = new Violations();
    const { epsilonMs, ...others } = { ...DEFAULTS, ...options };
    const bench = { history, report: violations.report, options: { ...others, epsilonMs: epsilonMs + history.clock.errorMs } };
    const watchers = FAMILIES.map((family) => family.begin(bench));
    for (const told of history.stories()) {
      const story = options.repeatsByItself === true ? doubtSelfRepeats(told) : told;
      const isReborn = mayBeReborn(history, story);
      for (const watcher of watchers) {
        if (isFlow(story)) watcher.flow?.(story);
        else if (isReborn) watcher.reborn?.(story);
        else watcher.job?.(story);
      }
    }
    for (const watcher of watchers) watcher.end?.();
    return violations.found;
  } finally {
    history.dispose();
  }
}

/** Checks the files of all processes of a run, and says what is wrong with the lines that show it. */
export function checkFiles(paths: readonly string[], options: HistoryOptions = {}): string[] {
  const violations = checkHistory(readHistory(paths), options);
  if (violations.length === 0) return [];
  const wanted = new Set(violations.flatMap(({ lines }) => lines));
  const texts = new Map<number, string>();
  let number = 0;
  for (const line of readHistory(paths)) if (wanted.has(++number)) texts.set(number, JSON.stringify(line));
  return violations.map((violation) => describeViolation(violation, (line) => texts.get(line)));
}
