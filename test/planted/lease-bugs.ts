import { STATUSES } from "../../src/core/job.ts";
import type { LeasedRecord, Settlement, Store } from "../../src/store/store.ts";
import type { WorldPlan } from "../simulation/plan.ts";
import { changed, type PlantedBug } from "./planted-bug.ts";

/** Settles with other settlements than were asked for, made one by one from these. */
function settlingOtherwise(inner: Store, otherwise: (settlement: Settlement) => Promise<Settlement>): Store {
  return changed(inner, {
    exchange: async (settlements, claims) => inner.exchange(await Promise.all(settlements.map(otherwise)), claims),
  });
}

/** The fence under which the job runs now, whoever asks. */
async function currentFence(inner: Store, id: string, fence: number): Promise<number> {
  const [job] = await inner.find([id]);
  return job?.status === "running" ? job.fence : fence;
}

/** Processes stop for longer than a lease while they have work, so that others take it over. */
function frozenAtWork({ faults, traits, workers }: WorldPlan): boolean {
  return faults.has("freeze") && traits.has("long") && workers.length > 1;
}

export const leaseBugs: readonly PlantedBug[] = [
  {
    name: "a finish is accepted under any fence",
    breaks: ["I4", "I5"],
    needs: frozenAtWork,
    store: (inner) =>
      settlingOtherwise(inner, async (settlement) => {
        return settlement.ifExpired ? settlement : { ...settlement, fence: await currentFence(inner, settlement.id, settlement.fence) };
      }),
  },
  {
    name: "a renewal is accepted under any fence",
    breaks: ["I4"],
    needs: frozenAtWork,
    store: (inner) =>
      changed(inner, {
        extend: async (leases) => {
          return inner.extend(
            await Promise.all(leases.map(async (lease) => ({ ...lease, fence: await currentFence(inner, lease.id, lease.fence) }))),
          );
        },
      }),
  },
  {
    name: "notes are accepted under any fence",
    breaks: ["I4"],
    needs: (plan) => frozenAtWork(plan) && plan.traits.has("notes"),
    store: (inner) => changed(inner, { note: async (notes) => (await inner.note(notes)).map(() => "ok") }),
  },
  {
    name: "a reclaim does not look at the lease's end again",
    breaks: ["I3"],
    store: (inner) => settlingOtherwise(inner, async (settlement) => ({ ...settlement, ifExpired: false })),
  },
  {
    name: "a reclaim does not look at the job's state",
    breaks: ["I3", "I4", "I5"],
    store: (inner) =>
      changed(inner, {
        exchange: async (settlements, claims) => {
          const answer = await inner.exchange(settlements, claims);
          for (const [index, { id, transition, ifExpired }] of settlements.entries()) {
            if (!ifExpired || answer.settled[index] === "ok") continue;
            await inner.change([id], { from: STATUSES.filter((status) => status !== "pending"), transition });
            answer.settled[index] = "ok";
          }
          return answer;
        },
      }),
  },
  {
    name: "renewals are answered and not written",
    breaks: ["I3"],
    store: (inner) =>
      changed(inner, {
        extend: async (leases) => {
          const jobs = await inner.find(leases.map(({ id }) => id));
          return leases.map(({ fence }, index) => (jobs[index]?.status === "running" && jobs[index].fence === fence ? "ok" : "stale"));
        },
      }),
  },
  {
    name: "leases are shorter than was asked for",
    breaks: ["I3"],
    store: (inner) =>
      changed(inner, {
        exchange: (settlements, claims) =>
          inner.exchange(
            settlements,
            claims.map((claim) => ({ ...claim, leaseMs: claim.leaseMs / 2 })),
          ),
      }),
  },
  {
    name: "leases that ran out are never found",
    breaks: ["I20"],
    needs: ({ faults }) => faults.has("crash"),
    store: (inner) => changed(inner, { expired: async () => ({ jobs: [], nextInMs: null }) }),
  },
  {
    name: "one job is given to two claims",
    breaks: ["I3"],
    store: givingTwice,
  },
  {
    name: "the repeat of a report is refused",
    breaks: ["I4"],
    needs: ({ faults }) => faults.has("lose-answer"),
    store: (inner) =>
      changed(inner, {
        exchange: async (settlements, claims) => {
          const before = await inner.find(settlements.map(({ id }) => id));
          const answer = await inner.exchange(settlements, claims);
          const isHeld = settlements.map(({ fence }, index) => before[index]?.status === "running" && before[index].fence === fence);
          return { ...answer, settled: answer.settled.map((said, index) => (said === "ok" && !isHeld[index] ? "stale" : said)) };
        },
      }),
  },
  {
    name: "two reclaims of one lease are both told that they did it",
    breaks: ["I4"],
    needs: ({ workers, faults }) => workers.length > 1 && faults.has("crash"),
    store: (inner) =>
      changed(inner, {
        exchange: async (settlements, claims) => {
          const answer = await inner.exchange(settlements, claims);
          const jobs = await inner.find(settlements.map(({ id }) => id));
          const settled = answer.settled.map((said, index) => {
            const { ifExpired, fence } = settlements[index]!;
            return ifExpired && jobs[index]?.fence === fence + 1 && jobs[index].error?.kind === "lost" ? "ok" : said;
          });
          return { ...answer, settled };
        },
      }),
  },
  {
    name: "what is given back at a shutdown stays where it was",
    breaks: ["I4", "I24"],
    needs: ({ faults, traits }) => faults.has("redeploy") && traits.has("long"),
    store: (inner) =>
      changed(inner, {
        exchange: async (settlements, claims) => {
          const real = settlements.filter(({ outcome }) => outcome !== "release");
          const { settled, claimed } = await inner.exchange(real, claims);
          return { settled: settlements.map(({ outcome }) => (outcome === "release" ? "ok" : settled.shift()!)), claimed };
        },
      }),
  },
];

/** Whoever has room for more is also given what another was given lately. */
function givingTwice(inner: Store): Store {
  let last: LeasedRecord | null = null;
  return changed(inner, {
    exchange: async (settlements, claims) => {
      const answer = await inner.exchange(settlements, claims);
      claims.forEach((claim, index) => {
        const claimed = answer.claimed[index]!;
        const isForeign = last !== null && last.workerId !== claim.workerId && claim.queues.includes(last.queue);
        if (isForeign && claimed.length < claim.limit) claimed.push(last!);
        last = isForeign ? null : (claimed.at(-1) ?? last);
      });
      return answer;
    },
  });
}
