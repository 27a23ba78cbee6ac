import type { Timing } from "../../src/core/schedule.ts";
import { readWalls, walkTicks } from "../unit/core/tick-walk.ts";
import type { Bench, Family } from "./family.ts";
import { happened, isBefore, type JobStory, lastLine, linesOf, mayHaveHappened, type Op } from "./story.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** After the last fault, so long may pass before a tick that comes is sure to be taken in time, and so late may it be taken then. */
const SETTLED_AFTER_MS = 15_000;
const LATEST_MS = 2_000;

/** I13: one job a tick at most, no tick that the schedule does not have, and in calm times every tick. */
export const ticks: Family = {
  covers: ["I13"],
  begin(bench) {
    const made = new Map<string, Map<string, number>>();
    return {
      job: (story) => noteRuns(made, story),
      end() {
        checkOneRun(bench, made);
        checkTakenOnce(bench);
        checkNominal(bench);
        checkComplete(bench);
        checkStored(bench);
      },
    };
  },
};

/** Jobs that a tick made, if they surely came to be: by name of tick, then by job, with the line that sent it. */
function noteRuns(made: Map<string, Map<string, number>>, { id, sendings, grants, stored, starts }: JobStory): void {
  for (const sending of sendings) {
    if (sending.schedule === null || sending.tick === null) continue;
    if (!happened(sending) && grants.length + stored.length + starts.length === 0) continue;
    const name = nameOf(sending.schedule, sending.tick);
    const jobs = made.get(name) ?? new Map<string, number>();
    made.set(name, jobs.set(id, sending.invoked.line));
  }
}

function nameOf(schedule: string, tick: number): string {
  return `${schedule} at ${new Date(tick).toISOString()}`;
}

function checkOneRun({ report }: Bench, made: ReadonlyMap<string, ReadonlyMap<string, number>>): void {
  for (const [tick, jobs] of made) {
    if (jobs.size > 1) report("I13", [...jobs.keys()][1]!, `is the second job of the tick of ${tick}`, [...jobs.values()]);
  }
}

function checkTakenOnce({ report, history }: Bench): void {
  const taken = new Map<string, Op<"tick">>();
  for (const op of history.ticks) {
    if (!happened(op) || op.ask.tick === null) continue;
    const name = nameOf(op.ask.schedule, op.ask.tick);
    const first = taken.get(name);
    if (first === undefined) taken.set(name, op);
    else if (first.ask.made?.job !== op.ask.made?.job || op.ask.made === null) {
      report("I13", null, `the tick of ${name} was taken twice`, [...linesOf(first), ...linesOf(op)]);
    }
  }
}

/** A tick that made a job is one that a timing of the schedule really has. */
function checkNominal({ report, history }: Bench): void {
  for (const op of history.ticks) {
    const { schedule, tick, made } = op.ask;
    if (tick === null || made === null || !mayHaveHappened(op)) continue;
    const puts = history.puts.filter((put) => put.ask.schedule === schedule && mayHaveHappened(put) && put.invoked.line < lastLine(op));
    if (puts.length === 0) continue;
    if (puts.some(({ ask }) => isTick(ask.timing, tick))) continue;
    report("I13", made.job, `was made for ${nameOf(schedule, tick)}, which is no tick of that schedule`, [
      ...puts.flatMap(linesOf),
      ...linesOf(op),
    ]);
  }
}

function isTick(timing: Timing, at: number): boolean {
  return timing.kind === "every" ? at % timing.everyMs === 0 : ticksOf(timing, at - 1, at).includes(at);
}

/** Every tick with from < tick <= to, by a walk on what the clocks of the zone show. */
function ticksOf(timing: Timing, from: number, to: number): number[] {
  if (timing.kind === "every") {
    const found: number[] = [];
    for (let at = Math.floor(from / timing.everyMs + 1) * timing.everyMs; at <= to; at += timing.everyMs) found.push(at);
    return found;
  }
  const stepMs = timing.cron.split(" ").length === 6 ? SECOND_MS : MINUTE_MS;
  const walls = readWalls(timing.timeZone, Math.floor(from / stepMs) * stepMs, to, stepMs);
  return walkTicks(timing.cron, walls, stepMs).filter((at) => at > from);
}

/** From when there was calm for a while, every tick of a schedule that surely ran is taken. */
function checkComplete({ report, history, options }: Bench): void {
  if (history.calm === null || !options.timed) return;
  for (const put of history.puts) {
    if (!happened(put) || put.ask.paused) continue;
    const { schedule, timing } = put.ask;
    const until = endOfRule(history.puts, history.unputs, put, history.dumped?.at ?? 0);
    const [from, to] = [
      history.clock.at(Math.max(put.answered!.at, history.calm.at + SETTLED_AFTER_MS)),
      history.clock.at(until - LATEST_MS),
    ];
    if (from === null || to === null || to <= from) continue;
    const taken = new Set(history.ticks.filter((op) => op.ask.schedule === schedule && mayHaveHappened(op)).map((op) => op.ask.tick));
    for (const tick of ticksOf(timing, from, to)) {
      if (!taken.has(tick))
        report("I13", null, `nobody took the tick of ${nameOf(schedule, tick)}, and nothing was in the way`, linesOf(put));
    }
  }
}

/** Until when, by the history's clock, the schedule was surely as this call put it. */
function endOfRule(
  puts: readonly Op<"put-schedule">[],
  unputs: readonly Op<"remove-schedule">[],
  put: Op<"put-schedule">,
  end: number,
): number {
  const others = [...puts, ...unputs].filter(
    (op) => op !== put && op.ask.schedule === put.ask.schedule && mayHaveHappened(op) && !isBefore(op, put),
  );
  return Math.min(end, ...others.map(({ invoked }) => invoked.at));
}

function checkStored({ report, history }: Bench): void {
  for (const { schedule, lastTick, line } of history.storedSchedules) {
    for (const op of history.ticks) {
      if (op.ask.schedule !== schedule || op.ask.tick === null || !happened(op)) continue;
      if (lastTick !== null && lastTick >= op.ask.tick) continue;
      // It may have been removed and made anew since.
      if (history.unputs.some((unput) => unput.ask.schedule === schedule && mayHaveHappened(unput))) continue;
      report("I13", null, `the last tick of ${schedule} is stored as ${lastTick}, and a later one was taken`, [...linesOf(op), line]);
    }
  }
}
