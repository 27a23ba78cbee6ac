import type { JobRecord } from "../../src/core/job.ts";
import type { Transition } from "../../src/core/lifecycle.ts";
import type { Settlement, Store } from "../../src/store/store.ts";
import { changed, type PlantedBug } from "./planted-bug.ts";

/** Applies other transitions than the core decided. */
function decidingOtherwise(inner: Store, otherwise: (settlement: Settlement) => Partial<Transition>): Store {
  return changed(inner, {
    exchange: (settlements, claims) => {
      const others = settlements.map((settlement) => ({
        ...settlement,
        transition: { ...settlement.transition, ...otherwise(settlement) },
      }));
      return inner.exchange(others, claims);
    },
  });
}

export const attemptBugs: readonly PlantedBug[] = [
  {
    name: "an attempt is not counted when it is claimed",
    breaks: ["I6"],
    needs: ({ traits }) => traits.has("failures"),
    store: (inner) =>
      changed(inner, {
        exchange: async (settlements, claims) => {
          const { settled, claimed } = await inner.exchange(settlements, claims);
          return { settled, claimed: claimed.map((jobs) => jobs.map((job) => ({ ...job, attempt: 0 }))) };
        },
        find: async (ids) => (await inner.find(ids)).map((job) => (job === null ? null : { ...job, attempt: 0 })),
      }),
  },
  {
    name: "a retry is not counted",
    breaks: ["I6"],
    needs: ({ traits }) => traits.has("failures"),
    store: (inner) => decidingOtherwise(inner, ({ transition }) => (transition.retries === "add" ? { retries: "keep" } : {})),
  },
  {
    name: "a lost attempt spends a retry",
    breaks: ["I6"],
    needs: ({ faults }) => faults.has("crash"),
    store: (inner) => decidingOtherwise(inner, ({ transition }) => (transition.losses === "add" ? { retries: "add" } : {})),
  },
  {
    name: "a loss is not counted",
    breaks: ["I6"],
    needs: ({ faults }) => faults.has("crash"),
    store: (inner) => decidingOtherwise(inner, ({ transition }) => (transition.losses === "add" ? { losses: "keep" } : {})),
  },
  {
    name: "a release costs an attempt",
    breaks: ["I6"],
    needs: ({ faults, traits }) => faults.has("redeploy") && traits.has("long"),
    store: (inner) => decidingOtherwise(inner, ({ outcome }) => (outcome === "release" ? { giveBackAttempt: false } : {})),
  },
  {
    name: "a snooze costs an attempt",
    breaks: ["I6"],
    needs: ({ traits }) => traits.has("snoozes"),
    store: (inner) => decidingOtherwise(inner, ({ outcome }) => (outcome === "snooze" ? { giveBackAttempt: false } : {})),
  },
  {
    name: "a snooze does not wait",
    breaks: ["I7"],
    needs: ({ traits }) => traits.has("snoozes"),
    store: (inner) => decidingOtherwise(inner, ({ outcome }) => (outcome === "snooze" ? { delayMs: 0 } : {})),
  },
  {
    name: "a retry does not wait",
    breaks: ["I7"],
    needs: ({ traits }) => traits.has("failures"),
    store: (inner) => decidingOtherwise(inner, ({ transition }) => (transition.to === "retrying" ? { delayMs: 0 } : {})),
  },
  {
    name: "the history forgets the first attempt",
    breaks: ["I6"],
    needs: ({ traits }) => traits.has("failures"),
    store: (inner) => changed(inner, { attempts: async (id) => (await inner.attempts(id)).slice(-1) }),
  },
  {
    name: "a dead job is removed instead of kept",
    breaks: ["I1", "I14"],
    needs: ({ traits }) => traits.has("discards"),
    store: (inner) =>
      changed(inner, {
        exchange: async (settlements, claims) => {
          const answer = await inner.exchange(settlements, claims);
          await inner.remove(
            settlements.filter(({ transition }) => transition.to === "dead").map(({ id }) => id),
            ["dead"],
          );
          return answer;
        },
      }),
  },
  {
    name: "the result of a holder that comes too late is stored",
    breaks: ["I5"],
    needs: ({ faults }) => faults.has("freeze"),
    store: storingLateResults,
  },
];

function storingLateResults(inner: Store): Store {
  const results = new Map<string, string | null>();
  const withLate = (job: JobRecord): JobRecord =>
    job.status === "completed" && results.has(job.id) ? { ...job, result: results.get(job.id)! } : job;
  return changed(inner, {
    exchange: async (settlements, claims) => {
      const answer = await inner.exchange(settlements, claims);
      settlements.forEach(({ id, transition, outcome }, index) => {
        if (outcome === "completed" && answer.settled[index] === "stale") results.set(id, `"late ${transition.runMs}"`);
      });
      return answer;
    },
    find: async (ids) => (await inner.find(ids)).map((job) => (job === null ? null : withLate(job))),
  });
}
