import type { Bench, Family } from "./family.ts";
import type { ToldStep } from "./line.ts";
import { isOneLife, sightingsOf, type StepSighting } from "./step-sightings.ts";
import { happened, type JobStory, linesOf, mayHaveHappened, type Op, type Sighting } from "./story.ts";

/**
 * Steps and signals: what was stored never runs again; whatever ended a step ended it for good, so that all who look see the same; and a handler
 * goes on with what is stored alone. And the other half of I8: no sleep and no timeout ends before its time.
 */
export const steps: Family = {
  covers: ["step", "signal", "I8"],
  begin: (bench) => ({
    job(story) {
      if (story.keeps.length + story.stepReads.length + story.stepEnds.length + story.wentOn.length === 0) return;
      const sightings = sightingsOf(story);
      for (const ofStep of sightings.values()) checkAgreement(bench, story, ofStep);
      checkLasting(bench, story, sightings);
      checkRunOnce(bench, story, sightings);
      checkOrigins(bench, story);
      for (const seen of story.wentOn) checkWentOn(bench, story, seen);
      checkTimes(bench, story);
    },
  }),
};

function invariantOf(kind: ToldStep["kind"]): "step" | "signal" | "call" {
  return kind === "wait" ? "signal" : kind === "call" ? "call" : "step";
}

/** A failed call can be replaced by another end of the called job, and a signal that does not fit its wait makes the name free again. */
function mayChange({ keeps }: JobStory, { kind, state, step, from }: StepSighting, to: number): boolean {
  if (kind === "call") return state === "failed";
  return keeps.some(
    (keep) =>
      mayHaveHappened(keep) &&
      keep.invoked.line < to &&
      (keep.answered?.line ?? Infinity) > from &&
      keep.ask.steps.some((each) => each.step === step && each.state === "open"),
  );
}

/** Two that see the end of a step in one life see the same. */
function checkAgreement({ report }: Bench, story: JobStory, sightings: readonly StepSighting[]): void {
  for (const [index, later] of sightings.entries()) {
    const first = sightings[index - 1];
    const until = Math.max(first?.to ?? 0, later.to);
    if (first === undefined || !isOneLife(story, first.from, until) || mayChange(story, first, until)) continue;
    const differs =
      first.state !== later.state || differ(first.value, later.value) || (first.kind !== "step" && differ(first.by, later.by));
    if (!differs) continue;
    const says = `${later.kind} "${later.step}" was seen as ${wordsOf(first)}, and as ${wordsOf(later)} in the same life`;
    report(invariantOf(later.kind), story.id, says, [...first.lines, ...later.lines]);
  }
}

function differ(one: string | null | undefined, other: string | null | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other;
}

function wordsOf({ state, value, by }: StepSighting): string {
  return `${state}${by === undefined || by === null ? "" : ` by ${by}`}${value === undefined || value === null ? "" : ` (${value})`}`;
}

/** Whoever reads all steps sees each that had ended before. */
function checkLasting({ report }: Bench, story: JobStory, sightings: ReadonlyMap<string, readonly StepSighting[]>): void {
  const reads = [
    ...story.stepReads
      .filter((op) => happened(op) && op.answer.isWhole !== false)
      .map((op) => ({ steps: op.answer.steps!, line: op.invoked.line, lines: linesOf(op) })),
    ...story.stored.map(({ steps: stored = [], line }) => ({ steps: stored, line, lines: [line] as (number | null)[] })),
  ];
  for (const { steps: read, line, lines } of reads) {
    const ended = new Set(read.flatMap(({ step, state }) => (state === "open" ? [] : [step])));
    for (const [step, ofStep] of sightings) {
      if (ended.has(step)) continue;
      const missed = ofStep.find((each) => each.to < line && isOneLife(story, each.from, line) && !mayChange(story, each, line));
      if (missed === undefined) continue;
      report(invariantOf(missed.kind), story.id, `"${step}" had ended as ${wordsOf(missed)}, and a later attempt does not know of it`, [
        ...missed.lines,
        ...lines,
      ]);
    }
  }
}

/** A step runs again only before its result is stored. A handler that lost its lease does not know that another has stored it. */
function checkRunOnce({ report }: Bench, story: JobStory, sightings: ReadonlyMap<string, readonly StepSighting[]>): void {
  for (const effect of story.effects) {
    const before = sightings
      .get(effect.step)
      ?.find(
        (each) => each.fence !== null && each.fence <= effect.fence && each.to < effect.line && isOneLife(story, each.from, effect.line),
      );
    if (before === undefined) continue;
    report("step", story.id, `step "${effect.step}" ran again under fence ${effect.fence} after its result was stored`, [
      ...before.lines,
      effect.line,
    ]);
  }
  for (const keep of story.keeps) {
    for (const { step, kind } of keep.ask.steps) {
      const isRun = story.effects.some(
        (effect) => effect.fence === keep.ask.fence && effect.step === step && effect.line < keep.invoked.line,
      );
      if (kind === "step" && !isRun) report("step", story.id, `a result of step "${step}" was stored, and it never ran`, linesOf(keep));
    }
  }
}

/** What is read was stored by somebody, in this way. */
function checkOrigins({ report }: Bench, story: JobStory): void {
  for (const read of story.stepReads.filter(happened)) {
    for (const told of read.answer.steps!) {
      if (told.state === "open" || told.kind === "sleep" || told.state === "timeout") continue;
      const isKnown = told.kind === "step" ? isKept(story, read, told) : isEnded(story, read, told);
      if (!isKnown) report(invariantOf(told.kind), story.id, `${told.kind} "${told.step}" has an end that nobody gave it`, linesOf(read));
    }
  }
}

function isKept({ keeps }: JobStory, read: Op<"read-steps">, told: ToldStep): boolean {
  return keeps.some(
    (keep) =>
      mayHaveHappened(keep) &&
      keep.invoked.line < read.answered!.line &&
      keep.ask.steps.some(({ step, value }) => step === told.step && value === told.value),
  );
}

function isEnded({ stepEnds }: JobStory, read: Op<"read-steps">, told: ToldStep): boolean {
  return stepEnds.some(
    (end) =>
      mayHaveHappened(end) &&
      end.invoked.line < read.answered!.line &&
      end.ask.step === told.step &&
      end.ask.state === told.state &&
      end.ask.value === told.value &&
      !differ(end.ask.by, told.by),
  );
}

/** A handler goes on with what its attempt has read, or has stored itself. */
function checkWentOn({ report }: Bench, story: JobStory, seen: Sighting<"went-on">): void {
  const reads = story.stepReads.filter((op) => op.ask.fence === seen.fence && happened(op) && op.answered!.line < seen.line);
  const isRead = reads.some((op) => op.answer.steps!.some((told) => isSame(told, seen)));
  const isOwn = story.keeps.some(
    (op) => op.ask.fence === seen.fence && happened(op) && op.answered!.line < seen.line && op.ask.steps.some((told) => isSame(told, seen)),
  );
  if (isRead || isOwn) return;
  const says = `the handler went on after ${seen.kind} "${seen.step}" with another end than was stored`;
  report(invariantOf(seen.kind), story.id, says, [...reads.flatMap(linesOf), seen.line]);
}

function isSame(told: ToldStep, { step, state, value }: Sighting<"went-on">): boolean {
  return told.step === step && told.state === state && told.value === value;
}

/** Sleeps and timeouts are over when the engine's clock says so, from when they were first stored. */
function checkTimes({ report, history, options }: Bench, story: JobStory): void {
  const { clock } = history;
  for (const read of story.stepReads.filter(happened)) {
    const now = Math.max(clock.at(read.invoked.at) ?? Infinity, clock.at(read.answered!.at) ?? Infinity);
    for (const { step, kind, state } of read.answer.steps!) {
      if (!(kind === "sleep" && state === "done") && state !== "timeout") continue;
      const asked = story.settles.filter(
        (op) => mayHaveHappened(op) && op.invoked.line < read.answered!.line && op.ask.waits?.some((wait) => wait.step === step),
      );
      const lines = [...asked.flatMap(linesOf), ...linesOf(read)];
      const untils = asked.map((op) => endOf(op, step, clock));
      if (untils.length > 0 && untils.every((until) => until === Infinity)) {
        report(kind === "wait" ? "signal" : "I8", story.id, `${kind} "${step}" ended by itself, and has no time to end at`, lines);
        continue;
      }
      const earlyMs = Math.min(...untils) - now;
      if (untils.length > 0 && earlyMs > options.epsilonMs) report("I8", story.id, `${kind} "${step}" ended ${earlyMs} ms early`, lines);
    }
  }
}

/** The earliest time at which it may end by itself. One that nobody is sure of may have come at any time, by any clock. */
function endOf({ ask, phase, invoked, answered }: Op<"settle">, step: string, clock: Bench["history"]["clock"]): number {
  const { untilMs } = ask.waits!.find((wait) => wait.step === step)!;
  if (untilMs === null) return Infinity;
  if (phase !== "ok" || answered === null) return -Infinity;
  return Math.min(clock.at(invoked.at) ?? -Infinity, clock.at(answered.at) ?? -Infinity) + untilMs;
}
