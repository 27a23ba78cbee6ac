import type { Counter } from "../../src/core/counters.ts";
import type { Status } from "../../src/core/job.ts";
import type { Bench, Family } from "./family.ts";
import { happened, type JobStory, mayHaveHappened, type Op, type Sighting } from "./story.ts";

/** I15: at rest, tallies equal a count of the rows, totals equal what was done, and no total ever fell. */
export const counters: Family = {
  covers: ["I15"],
  begin(bench) {
    const rows = new Map<string, Map<Status, number>>();
    const totals = new Totals();
    return {
      job(story) {
        countRows(rows, story);
        totals.add(story);
      },
      reborn(story) {
        countRows(rows, story);
        totals.addReborn(story);
      },
      flow(story) {
        countRows(rows, story);
        totals.addFlow(story);
      },
      end() {
        for (const queue of bench.history.storedQueues) {
          checkTallies(bench, queue, rows.get(queue.queue) ?? new Map());
          checkTotals(bench, queue, totals);
        }
        checkNoFall(bench);
      },
    };
  },
};

function countRows(rows: Map<string, Map<Status, number>>, { stored }: JobStory): void {
  for (const { queue, status } of stored) {
    const ofQueue = rows.get(queue) ?? new Map<Status, number>();
    rows.set(queue, ofQueue.set(status, (ofQueue.get(status) ?? 0) + 1));
  }
}

function checkTallies({ report }: Bench, { queue, counts, line }: Sighting<"stored-queue">, rows: ReadonlyMap<Status, number>): void {
  for (const status of new Set([...rows.keys(), ...(Object.keys(counts) as Status[])])) {
    const [told, there] = [counts[status] ?? 0, rows.get(status) ?? 0];
    if (told !== there) report("I15", null, `${queue} counts ${told} ${status} jobs, and there are ${there}`, [line]);
  }
}

/** How often something surely happened, and how often it may have. */
interface Range {
  least: number;
  most: number;
}

class Totals {
  readonly #ranges = new Map<string, Range>();

  range(queue: string, counter: Counter): Range {
    const name = `${queue} ${counter}`;
    let range = this.#ranges.get(name);
    if (range === undefined) this.#ranges.set(name, (range = { least: 0, most: 0 }));
    return range;
  }

  add(story: JobStory): void {
    const queue = story.sendings[0]?.sent.queue;
    if (queue === undefined) return;
    this.#count(queue, "enqueued", isThere(story) ? 1 : 0, story.sendings.some(mayHaveHappened) ? 1 : 0);
    for (const settles of Map.groupBy(story.settles.filter(mayHaveHappened), ({ ask }) => ask.fence).values())
      this.#countEnd(queue, settles);
    for (const cancel of story.cancels.filter(mayHaveHappened)) this.#count(queue, "cancelled", happened(cancel) ? 1 : 0, 1);
  }

  /** Of one that was made several times, each with fences of its own, only the most that can have happened is known. */
  addReborn({ sendings, settles, cancels }: JobStory): void {
    const { queue } = sendings[0]!.sent;
    this.#count(queue, "enqueued", 1, sendings.filter(mayHaveHappened).length);
    for (const { ask } of settles.filter(mayHaveHappened)) {
      if (ask.to === "completed" || ask.to === "dead" || ask.to === "failed") this.#count(queue, ask.to, 0, 1);
      if (ask.to === "retrying") this.#count(queue, "retried", 0, 1);
      if (ask.outcome === "lost") this.#count(queue, "lost", 0, 1);
    }
    for (const _ of cancels.filter(mayHaveHappened)) this.#count(queue, "cancelled", 0, 1);
  }

  /** Its job takes a status that it has already as often as it is told to. */
  addFlow(story: JobStory): void {
    const queue = story.sendings[0]?.sent.queue;
    if (queue === undefined) return;
    this.#count(queue, "enqueued", isThere(story) ? 1 : 0, story.sendings.some(mayHaveHappened) ? 1 : 0);
    for (const { ask } of story.flowMoves.filter(mayHaveHappened)) {
      if (ask.to === "completed" || ask.to === "failed" || ask.to === "cancelled") this.#count(queue, ask.to, 0, 1);
    }
  }

  /** A lease ends once: as somebody was told, or else perhaps as one of those asked for who were not. */
  #countEnd(queue: string, settles: readonly Op<"settle">[]): void {
    const sure = settles.find(happened);
    const least = sure === undefined ? 0 : 1;
    const ways =
      sure === undefined ? new Map(settles.map((settle) => [`${settle.ask.outcome} ${settle.ask.to}`, settle])).values() : [sure];
    for (const { ask } of ways) {
      if (ask.to === "completed" || ask.to === "dead" || ask.to === "failed") this.#count(queue, ask.to, least, 1);
      if (ask.to === "retrying") this.#count(queue, "retried", least, 1);
      if (ask.outcome === "lost") this.#count(queue, "lost", least, 1);
    }
  }

  #count(queue: string, counter: Counter, least: number, most: number): void {
    const range = this.range(queue, counter);
    range.least += least;
    range.most += most;
  }
}

/** It was surely stored: somebody was told so, or met it. */
function isThere({ sendings, grants, stored, cancels, removes, retries, runNows }: JobStory): boolean {
  return (
    sendings.some(happened) || grants.length > 0 || stored.length > 0 || [...cancels, ...removes, ...retries, ...runNows].some(happened)
  );
}

const COUNTED = ["enqueued", "completed", "failed", "dead", "retried", "cancelled", "lost"] as const satisfies Counter[];

function checkTotals({ report }: Bench, { queue, totals, line }: Sighting<"stored-queue">, counted: Totals): void {
  for (const counter of COUNTED) {
    const { least, most } = counted.range(queue, counter);
    const told = totals[counter] ?? 0;
    if (told >= least && told <= most) continue;
    report("I15", null, `${queue} has counted ${told} ${counter}; the history has ${least === most ? least : `${least} to ${most}`}`, [
      line,
    ]);
  }
}

function checkNoFall({ report, history }: Bench): void {
  const last = new Map<string, { readonly count: number; readonly line: number }>();
  const final = history.storedQueues.map(({ queue, totals, line }) => ({ queue, counts: totals, line }));
  for (const { queue, counts, line } of [...history.totals, ...final]) {
    for (const counter of COUNTED) {
      const name = `${queue} ${counter}`;
      const before = last.get(name);
      const count = counts[counter] ?? 0;
      if (before !== undefined && count < before.count)
        report("I15", null, `${counter} of ${queue} fell from ${before.count} to ${count}`, [before.line, line]);
      last.set(name, { count, line });
    }
  }
}
