import { TERMINAL } from "../../src/core/job.ts";
import type { Bench, Family } from "./family.ts";
import { happened, type JobStory, lastLine, linesOf, mayHaveHappened, type Moment, type Op, type Sending } from "./story.ts";

/** I1 and I2: every job that was accepted is there or was rightly removed, and there is no other. */
export const loss: Family = {
  covers: ["I1", "I2"],
  begin(bench) {
    const pruned = new PrunedJobs(bench);
    return {
      job(story) {
        checkOrigin(bench, story);
        checkContent(bench, story);
        if (bench.history.dumped !== null) checkPresence(bench, story, pruned);
        pruned.count(story);
      },
      flow(story) {
        checkOrigin(bench, story);
        checkContent(bench, story);
        if (bench.history.dumped !== null) checkThere(bench, story, pruned);
        pruned.count(story);
      },
      end: () => pruned.check(),
    };
  },
};

function checkOrigin({ report }: Bench, story: JobStory): void {
  const { id, sendings, enqueues, grants, starts, stored } = story;
  const storedAt = stored.map(({ line }) => line);
  if (stored.length > 1) report("I2", id, "is stored twice", storedAt);
  const traces = [...stored, ...grants.map(({ answered }) => answered), ...starts];
  if (traces.length > 0 && !sendings.some(mayHaveHappened)) {
    const why = sendings.length === 0 ? "nobody sent it" : "it was refused";
    report("I2", id, `is there although ${why}`, [...sendings.flatMap(linesOf), traces[0]!.line]);
  }
  const promised = enqueues.find((op) => happened(op) && op.answer.created === true);
  if (promised !== undefined && !sendings.some(happened)) {
    report("I1", id, "its producer was told that it is stored, and the store never said so", [
      ...linesOf(promised),
      ...sendings.flatMap(linesOf),
    ]);
  }
}

function checkContent({ report }: Bench, { id, sendings, starts, stored }: JobStory): void {
  // A delivery has one id for all who report the end of its job, and only one of them is right.
  const possible = sendings.filter(mayHaveHappened);
  const [first] = possible;
  if (first === undefined) return;
  const { invoked } = first;
  for (const start of starts) {
    const isSent = possible.some(({ sent }) => sent.print === start.print);
    if (!isSent) report("I2", id, "its handler got another payload than was sent", [invoked.line, start.line]);
  }
  for (const job of stored) {
    const changed = (["print", "queue", "type", "priority", "maxRetries", "maxLost"] as const).filter((field) =>
      possible.every(({ sent }) => sent[field] !== job[field]),
    );
    if (changed.length > 0) report("I2", id, `is stored with another ${changed.join(", ")} than was sent`, [invoked.line, job.line]);
  }
}

function checkPresence(bench: Bench, story: JobStory, pruned: PrunedJobs): void {
  const { report } = bench;
  const { id, sendings, removes, ends, stored } = story;
  checkThere(bench, story, pruned);
  for (const remove of removes) {
    const { was } = remove.answer;
    if (!happened(remove) || was === undefined || TERMINAL.includes(was)) continue;
    report("I1", id, `was removed while it was ${was}`, linesOf(remove));
  }
  const [job] = stored;
  if (job?.status === "completed" && !ends.some(({ how }) => how === "ok")) {
    report("I1", id, "is completed, and no handler ever finished it", [sendings.find(happened)?.answered?.line, job.line]);
  }
}

function checkThere({ report }: Bench, story: JobStory, pruned: PrunedJobs): void {
  const { id, sendings, removes, stored } = story;
  const accepted = sendings.find(happened);
  if (stored.length > 0 || accepted === undefined || removes.some(mayHaveHappened) || pruned.explains(story)) return;
  report("I1", id, "was accepted, and is neither there nor rightly removed", [...linesOf(accepted), ...linesOfEnd(story)]);
}

/** What may have ended the job so that its retention began. */
function endings({ settles, cancels, flowMoves }: JobStory): EndingOp[] {
  const completing = [...settles, ...flowMoves].filter(({ ask }) => ask.to === "completed");
  return [...completing, ...cancels, ...flowMoves.filter(({ ask }) => ask.to === "cancelled")].filter(mayHaveHappened);
}

type EndingOp = Op<"settle"> | Op<"cancel"> | Op<"set-flow">;

function linesOfEnd(story: JobStory): (number | null)[] {
  return endings(story).flatMap(linesOf);
}

/** Jobs that may have gone by their retention: not before their time, nor more of them than a queue's bound leaves over. */
class PrunedJobs {
  readonly #bench: Bench;
  readonly #endedByQueue = new Map<string, number>();
  /** Gone before their age: only the bound on their number can have taken them. */
  readonly #byCount: { readonly id: string; readonly queue: string; readonly most: number; readonly lines: (number | null)[] }[] = [];

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  count(story: JobStory): void {
    const queue = story.sendings[0]?.sent.queue;
    if (queue !== undefined && endings(story).length > 0) this.#endedByQueue.set(queue, (this.#endedByQueue.get(queue) ?? 0) + 1);
  }

  explains(story: JobStory): boolean {
    const sending = story.sendings.find(happened)!;
    let byCount: number | null = null;
    for (const end of endings(story)) {
      for (const prune of this.#bench.history.prunes) {
        const rule = ruleThatMayHaveActed(prune, sending, end);
        if (rule === null) continue;
        const ageMs = this.#ageAt(prune, end.invoked);
        if (ageMs + this.#bench.options.epsilonMs < rule.keepAtLeastMs) continue;
        if (ageMs + this.#bench.options.epsilonMs >= rule.ageMs) return true;
        byCount = rule.count;
      }
    }
    if (byCount === null) return false;
    this.#byCount.push({ id: story.id, queue: sending.sent.queue, most: byCount, lines: linesOfEnd(story) });
    return true;
  }

  check(): void {
    for (const { id, queue, most, lines } of this.#byCount) {
      if ((this.#endedByQueue.get(queue) ?? 0) > most) continue;
      this.#bench.report("I1", id, `was pruned before its age, and ${queue} never had more than its ${most} ended jobs`, lines);
    }
  }

  /** The most that can have passed, by the engine's clock, from the job's end to the prune. */
  #ageAt(prune: Op<"prune">, end: Moment): number {
    if (prune.phase === "unknown" || prune.answered === null) return Infinity;
    const { clock } = this.#bench.history;
    const [from, to] = [clock.at(end.at), clock.at(prune.answered.at)];
    return from === null || to === null ? prune.answered.at - end.at : to - from;
  }
}

function ruleThatMayHaveActed(prune: Op<"prune">, { sent }: Sending, end: EndingOp): Op<"prune">["ask"]["rules"][number] | null {
  // How many it says that it removed proves nothing: an engine that lost the answer asks again, and then finds nothing to remove.
  if (!mayHaveHappened(prune) || lastLine(prune) < end.invoked.line) return null;
  return prune.ask.rules.find(({ queue }) => queue === sent.queue) ?? null;
}
