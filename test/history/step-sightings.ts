import type { ToldStep } from "./line.ts";
import { happened, type JobStory, lastLine, linesOf, mayHaveHappened, type Op } from "./story.ts";

/** Somebody learned how a step had ended: between these lines it was so. */
export interface StepSighting {
  readonly step: string;
  readonly kind: ToldStep["kind"];
  readonly state: Exclude<ToldStep["state"], "open">;
  /** Undefined: not told. */
  readonly value: string | null | undefined;
  readonly by: string | null | undefined;
  /** The lease of who kept or read it; null if it was told to somebody without one. */
  readonly fence: number | null;
  readonly from: number;
  readonly to: number;
  readonly lines: readonly (number | null)[];
}

/** All that was ever seen of the steps of a job that had ended, by name, in order. */
export function sightingsOf(story: JobStory): Map<string, StepSighting[]> {
  const all: StepSighting[] = [...story.keeps.flatMap(kept), ...story.stepReads.flatMap(read), ...story.stepEnds.flatMap(ended)];
  for (const { steps = [], line } of story.stored) {
    for (const step of steps) all.push(...seen(step, null, { from: line, to: line, lines: [line] }));
  }
  all.sort((one, other) => one.from - other.from);
  return Map.groupBy(all, ({ step }) => step);
}

type Span = Pick<StepSighting, "from" | "to" | "lines">;

function spanOf(op: Op<"keep-steps"> | Op<"read-steps"> | Op<"end-step">): Span {
  return { from: op.invoked.line, to: op.answered!.line, lines: linesOf(op) };
}

function seen({ step, kind, state, value, by }: ToldStep, fence: number | null, span: Span): StepSighting[] {
  return state === "open" ? [] : [{ step, kind, state, value, by, fence, ...span }];
}

function kept(op: Op<"keep-steps">): StepSighting[] {
  return happened(op) ? op.ask.steps.flatMap((step) => seen(step, op.ask.fence, spanOf(op))) : [];
}

function read(op: Op<"read-steps">): StepSighting[] {
  return happened(op) ? op.answer.steps!.flatMap((step) => seen(step, op.ask.fence, spanOf(op))) : [];
}

/** Who ends a step knows how it ended; who was too late is told the state alone. */
function ended(op: Op<"end-step">): StepSighting[] {
  const { step, kind, value, by } = op.ask;
  if (happened(op)) return seen({ step, kind, state: op.ask.state, value, by }, null, spanOf(op));
  if (op.answer.kind !== "late" || op.answer.state === undefined || op.answered === null) return [];
  return seen({ step, kind, state: op.answer.state, value: null }, null, spanOf(op)).map((late) => ({
    ...late,
    value: undefined,
    by: undefined,
  }));
}

/** Whether nobody can have made the job forget all of its steps between these lines. */
export function isOneLife({ retries }: Pick<JobStory, "retries">, from: number, to: number): boolean {
  return !retries.some(
    (retry) => retry.ask.forgets === "all" && mayHaveHappened(retry) && lastLine(retry) > from && retry.invoked.line < to,
  );
}
