import { TERMINAL } from "../../src/core/job.ts";
import type { Bench, Family } from "./family.ts";
import { spanOf } from "./health.ts";
import type { ToldStep } from "./line.ts";
import { isJudged } from "./liveness.ts";
import { isOneLife } from "./step-sightings.ts";
import { happened, isRepeat, type JobStory, lastLine, linesOf, mayHaveHappened, type Op } from "./story.ts";

/** So long after a cancel, with no fault meanwhile, the jobs that it called are cancelled, too. */
const CANCELLED_WITHIN_MS = 10_000;

/** One that called others: what is needed of its story once all are read. */
type Caller = Pick<JobStory, "id" | "settles" | "stepReads" | "retries" | "cancels" | "stored">;
/** One that was called: the same. */
type Called = Pick<JobStory, "id" | "settles" | "cancels" | "retries" | "sendings" | "stored">;

/** Calls: a called job is there once, its caller goes on with its end, and is not left without it. Notices: none is left over. */
export const calls: Family = {
  covers: ["call", "children", "notice"],
  begin(bench) {
    const callers: Caller[] = [];
    const called = new Map<string, Called>();
    const note = ({ id, settles, stepReads, retries, cancels, stored, sendings }: JobStory): void => {
      if (settles.some(({ ask }) => ask.calls !== undefined)) callers.push({ id, settles, stepReads, retries, cancels, stored });
      if (sendings.some(({ sent }) => sent.parent !== undefined)) called.set(id, { id, settles, cancels, retries, sendings, stored });
    };
    return {
      job: note,
      reborn: note,
      end() {
        for (const caller of callers) {
          checkOnce(bench, caller);
          checkEnds(bench, caller, called);
          checkChildren(bench, caller, called);
        }
        checkNotices(bench);
      },
    };
  },
};

/** What a caller sent in one settlement. */
interface Call {
  readonly step: string;
  readonly child: string;
  readonly settle: Op<"settle">;
}

function callsOf({ settles }: Caller): Call[] {
  // The repeat of a report calls nobody: the first one did.
  return settles
    .filter((settle) => mayHaveHappened(settle) && !isRepeat(settle, settles))
    .flatMap((settle) => (settle.ask.calls ?? []).map(({ job: child, parent }) => ({ step: parent!.step, child, settle })));
}

/** One step of one life calls one job; another life calls another. */
function checkOnce({ report }: Bench, caller: Caller): void {
  for (const [step, ofStep] of Map.groupBy(callsOf(caller), (call) => call.step)) {
    ofStep.sort((one, other) => one.settle.invoked.line - other.settle.invoked.line);
    for (const [index, second] of ofStep.entries()) {
      const first = ofStep[index - 1];
      if (first === undefined) continue;
      const lines = [...linesOf(first.settle), ...linesOf(second.settle)];
      const isSame = first.child === second.child;
      const until = second.settle.answered?.line ?? Infinity;
      if (!isSame && isOneLife(caller, first.settle.invoked.line, until)) {
        report("call", caller.id, `step "${step}" called job ${first.child}, and job ${second.child} in the same life`, lines);
      }
      const restart = caller.retries.find(
        (op) =>
          op.ask.forgets === "all" &&
          happened(op) &&
          lastLine(first.settle) < op.invoked.line &&
          op.answered!.line < second.settle.invoked.line,
      );
      if (!isSame || restart === undefined) continue;
      report("call", caller.id, `step "${step}" called job ${second.child} of an earlier life`, [...lines, ...linesOf(restart)]);
    }
  }
}

/** What a caller was told of a call is how the called job ended before. */
function checkEnds(bench: Bench, caller: Caller, called: ReadonlyMap<string, Called>): void {
  const made = Map.groupBy(callsOf(caller), ({ step }) => step);
  for (const read of caller.stepReads.filter(happened)) {
    for (const told of read.answer.steps!) {
      if (told.kind !== "call" || told.state === "open") continue;
      const [child, fence] = (told.by ?? "").split(" ");
      const story = called.get(child ?? "");
      const isCalled = (made.get(told.step) ?? []).some((call) => call.child === child);
      const lines = linesOf(read);
      if (!isCalled || story === undefined) {
        bench.report("call", caller.id, `call "${told.step}" ended by "${told.by}", which it did not call`, lines);
      } else if (!endedSo(story, told, Number(fence), read.answered!.line)) {
        const says = `call "${told.step}" was told as ${told.state}, and job ${child} had not ended so`;
        bench.report("call", caller.id, says, [...lines, ...story.settles.flatMap(linesOf)]);
      } else if (told.state === "failed") checkForgotten(bench, caller, story, told, Number(fence), read);
    }
  }
}

function endedSo({ settles, cancels }: Called, { state, value }: ToldStep, fence: number, before: number): boolean {
  if (state === "failed" && cancels.some((op) => mayHaveHappened(op) && op.invoked.line < before)) return true;
  return settles.some((op) => {
    if (!mayHaveHappened(op) || op.invoked.line > before || fenceAtEnd(op) !== fence) return false;
    return state === "done" ? op.ask.to === "completed" && op.ask.result === value : op.ask.to === "dead" || op.ask.to === "failed";
  });
}

function fenceAtEnd({ ask }: Op<"settle">): number {
  return ask.fence + (ask.outcome === "lost" ? 1 : 0);
}

/** A failure of a job that was since retried, together with its caller, is forgotten. */
function checkForgotten({ report }: Bench, caller: Caller, story: Called, told: ToldStep, fence: number, read: Op<"read-steps">): void {
  const end = story.settles.find((op) => happened(op) && TERMINAL.includes(op.ask.to) && fenceAtEnd(op) === fence);
  if (end === undefined) return;
  const again = story.retries.find((op) => happened(op) && op.invoked.line > end.answered!.line);
  const retry = caller.retries.find(
    (op) =>
      again !== undefined &&
      happened(op) &&
      op.ask.forgets !== undefined &&
      again.answered!.line < op.invoked.line &&
      op.answered!.line < read.invoked.line,
  );
  if (retry === undefined) return;
  report("call", caller.id, `call "${told.step}" has the failure from before it was retried`, [
    ...linesOf(end),
    ...linesOf(again!),
    ...linesOf(retry),
    ...linesOf(read),
  ]);
}

/** The called jobs of one that was cancelled for good have ended when all is well, and soon if nothing was in the way. */
function checkChildren(bench: Bench, caller: Caller, called: ReadonlyMap<string, Called>): void {
  const { history, options, report } = bench;
  // If the caller was removed, nobody knows any more whom it had called.
  if (caller.stored.length === 0) return;
  for (const cancel of caller.cancels.filter(happened)) {
    if (caller.retries.some((op) => mayHaveHappened(op) && lastLine(op) > cancel.invoked.line)) continue;
    const by = cancel.answered!.at + CANCELLED_WITHIN_MS;
    const isDisturbed = history.faults.some((fault) => spanOf(fault).to >= cancel.invoked.at && spanOf(fault).from <= by);
    const isSoon = options.timed && !isDisturbed && (history.dumped?.at ?? 0) >= by;
    for (const { child, settle, step } of callsOf(caller)) {
      const story = called.get(child);
      if (story === undefined || !happened(settle) || settle.answered!.line > cancel.invoked.line) continue;
      if (story.retries.some(mayHaveHappened) || !isOneLife(caller, settle.invoked.line, cancel.answered!.line)) continue;
      const ends = [...story.settles.filter(({ ask }) => TERMINAL.includes(ask.to)), ...story.cancels].filter(mayHaveHappened);
      const isLate = isSoon && !ends.some(({ invoked }) => invoked.at < by);
      const isLeft = isAtRest(bench) && story.stored.some(({ status }) => !TERMINAL.includes(status));
      if (!isLate && !isLeft) continue;
      const lines = [...linesOf(settle), ...linesOf(cancel), story.stored[0]?.line];
      report("children", child, `was called by "${step}" of job ${caller.id}, which was cancelled, and was not`, lines);
    }
  }
}

/** Whether there was calm for a while before the end. */
function isAtRest({ history }: Bench): boolean {
  return history.calm !== null && history.dumped !== null && history.dumped.at >= history.calm.at + CANCELLED_WITHIN_MS;
}

function checkNotices(bench: Bench): void {
  const { dumped } = bench.history;
  if (!isJudged(bench)) return;
  for (const notice of dumped!.notices ?? []) bench.report("notice", null, `is left: ${notice}`, [dumped!.line]);
}
