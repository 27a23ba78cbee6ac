import type { LimitOptions } from "../../src/core/limits.ts";
import { decodeLimits, readOneKeyLimits } from "../../src/core/limits.ts";
import type { QueueChange } from "../../src/core/queue.ts";
import type { Store } from "../../src/store/store.ts";
import type { WorldPlan } from "../simulation/plan.ts";
import { changed, type PlantedBug } from "./planted-bug.ts";

/** The same store, which knows other limits than it was told. */
function withLimits(inner: Store, otherwise: (limits: ReturnType<typeof decodeLimits>) => object): Store {
  const other = (change: QueueChange): QueueChange =>
    typeof change.limits === "string" ? { ...change, limits: JSON.stringify(otherwise(decodeLimits(change.limits))) } : change;
  return changed(inner, { configure: (queue, change) => inner.configure(queue, other(change)) });
}

const hasLimit = ({ queues }: WorldPlan, has: (limits: LimitOptions) => boolean): boolean =>
  Object.values(queues).some(({ limits }) => limits !== undefined && limits !== null && has(limits));

const plusOne = (limit: number | null): number | null => (limit === null ? null : limit + 1);

export const limitBugs: readonly PlantedBug[] = [
  {
    name: "a queue lets one more run than its limit",
    breaks: ["limit"],
    needs: (plan) => hasLimit(plan, ({ running }) => typeof running === "number"),
    store: (inner) => withLimits(inner, (limits) => ({ ...limits, running: plusOne(limits.running) })),
  },
  {
    name: "a limit key lets one more run than its limit",
    breaks: ["limit"],
    needs: (plan) => plan.traits.has("limit-keys") && hasLimit(plan, ({ perKey }) => typeof perKey?.running === "number"),
    store: (inner) => withLimits(inner, (limits) => ({ ...limits, perKey: { ...limits.perKey, running: plusOne(limits.perKey.running) } })),
  },
  {
    name: "a held key is not held",
    breaks: ["limit"],
    needs: ({ traits }) => traits.has("holds") && traits.has("limit-keys"),
    store: (inner) =>
      changed(inner, {
        exchange: (settlements, claims) =>
          inner.exchange(
            settlements.map((settlement) => ({ ...settlement, holdMs: undefined })),
            claims,
          ),
      }),
  },
  {
    name: "one limit key has all the turns",
    breaks: ["turns"],
    // Many jobs of one line have to wait, and nothing but their turn may hold them up.
    needs: ({ traits, queues, workers, faults }) =>
      (["limit-keys", "batches", "long"] as const).every((trait) => traits.has(trait)) &&
      (["priorities", "holds"] as const).every((trait) => !traits.has(trait)) &&
      (["lose-answer", "crash", "outage", "late"] as const).every((fault) => !faults.has(fault)) &&
      Object.values(queues).every(({ headStart, limits }) => headStart === undefined && (limits?.perKey ?? null) === null) &&
      workers.flat().reduce((slots, worker) => slots + worker.slots, 0) <= 4,
    store: (inner) => {
      const favoured = new Set<string>();
      return changed(inner, {
        insert: async (jobs) => {
          for (const { queue } of jobs) {
            if (favoured.has(queue)) continue;
            favoured.add(queue);
            await inner.setKeyLimits(queue, "ann", readOneKeyLimits({ weight: 100 }, "ann"));
          }
          return inner.insert(jobs);
        },
      });
    },
  },
  {
    name: "the place of a cancelled job is never given back",
    breaks: ["I20"],
    needs: (plan) => plan.hasOperator && plan.traits.has("long") && hasLimit(plan, ({ running }) => typeof running === "number"),
    store: (inner) =>
      changed(inner, {
        change: async (ids, move, manual) => {
          const answers = await inner.change(ids, move, manual);
          for (const answer of answers) {
            if (answer.kind !== "ok" || answer.was !== "running" || answer.job.status !== "cancelled") continue;
            const { settings } = (await inner.queues()).find(({ name }) => name === answer.job.queue)!;
            const limits = decodeLimits(settings.limits);
            if (limits.running === null) continue;
            await inner.configure(answer.job.queue, { limits: JSON.stringify({ ...limits, running: limits.running - 1 }) });
          }
          return answers;
        },
      }),
  },
];
