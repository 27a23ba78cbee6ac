import type { Bench, Family } from "./family.ts";
import { happened, lastLine, linesOf, mayHaveHappened, type Op, type Sending } from "./story.ts";
import { type Wait, waitsOf } from "./wait.ts";

/** I17: what comes into a queue with a capacity finds room in it. What is refused leaves nothing: that is I2. */
export const capacity: Family = {
  covers: ["I17"],
  begin(bench) {
    const queues = new Map<string, { readonly waits: Wait[]; readonly arrivals: (Sending & { readonly id: string })[] }>();
    const bounded = new Set(bench.history.configures.filter((op) => typeof op.ask.change.capacity === "number").map((op) => op.ask.queue));
    return {
      job(story) {
        const [sending] = story.sendings;
        if (sending === undefined || !bounded.has(sending.sent.queue)) return;
        const queue = queues.get(sending.sent.queue) ?? { waits: [], arrivals: [] };
        queues.set(sending.sent.queue, queue);
        queue.waits.push(...waitsOf(story));
        const isOnly = story.sendings.length === 1;
        // A called job always fits.
        if (happened(sending) && isOnly && sending.sent.parent === undefined) queue.arrivals.push({ ...sending, id: story.id });
      },
      end() {
        for (const [queue, { waits, arrivals }] of queues) checkDepth(bench, queue, waits, arrivals);
      },
    };
  },
};

function checkDepth({ report, history }: Bench, queue: string, waits: Wait[], arrivals: (Sending & { readonly id: string })[]): void {
  const changes = history.configures.filter((op) => op.ask.queue === queue && op.ask.change.capacity !== undefined && mayHaveHappened(op));
  waits.sort((a, b) => a.from - b.from);
  arrivals.sort((a, b) => a.invoked.line - b.invoked.line);
  let present: Wait[] = [];
  let next = 0;
  for (const arrival of arrivals) {
    for (; next < waits.length && waits[next]!.from < arrival.invoked.line; next++) present.push(waits[next]!);
    present = present.filter(({ to }) => to > arrival.invoked.line);
    const rule = ruleAt(changes, arrival);
    if (rule === null) continue;
    const others = present.filter(({ job, to }) => job !== arrival.id && to > arrival.answered!.line);
    const most = rule.ask.change.capacity!;
    if (others.length < most) continue;
    report("I17", arrival.id, `was taken into ${queue}, where ${others.length} jobs waited and ${most} may`, [
      ...linesOf(rule),
      ...linesOf(arrival),
    ]);
  }
}

/** The bound that surely held when the job came; null when there was none, or it is not sure which. */
function ruleAt(changes: readonly Op<"configure">[], { invoked, answered }: Sending): Op<"configure"> | null {
  const last = changes.findLast((change) => lastLine(change) < invoked.line);
  if (last === undefined || typeof last.ask.change.capacity !== "number") return null;
  const isSure = changes.every((change) => change === last || lastLine(change) < last.invoked.line || change.invoked.line > answered!.line);
  return isSure ? last : null;
}
