import { TERMINAL } from "../../src/core/job.ts";
import type { History } from "./history.ts";
import { type JobStory, lastLine, mayHaveHappened } from "./story.ts";

/**
 * A called job has one id for all lives that its caller goes through without a restart. If it has ended and was removed, and its caller is
 * retried by hand, it is made again under that id, with fences from 1 on: what is told of it then is told of two jobs.
 */
export function mayBeReborn({ prunes }: History, { sendings, settles, cancels, removes }: JobStory): boolean {
  const [first] = sendings;
  const last = sendings.at(-1);
  if (first?.sent.parent === undefined || last === undefined || first === last) return false;
  const until = last.answered?.line ?? Infinity;
  const isBetween = (op: Parameters<typeof lastLine>[0]): boolean =>
    mayHaveHappened(op) && lastLine(op) > first.invoked.line && op.invoked.line < until;
  const hasEnded = [...settles.filter(({ ask }) => TERMINAL.includes(ask.to)), ...cancels].some(isBetween);
  const isGone =
    removes.some(isBetween) || prunes.some((op) => isBetween(op) && op.ask.rules.some(({ queue }) => queue === first.sent.queue));
  return hasEnded && isGone;
}
