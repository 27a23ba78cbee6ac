import { deliveryOf } from "../core/delivery.ts";
import { settle, type Transition } from "../core/lifecycle.ts";
import type { LostLease } from "../core/lease.ts";
import type { ExpiredRecord, Settlement } from "../store/store.ts";
import { letOthersRun, type Duty, type DutyParts } from "./duty.ts";

const BATCH = 200;
const AFTER_NOTHING_MS = 1000;

/**
 * Leases that ran out. The outcome is "lost": the core counts it apart from failures and says when the job runs again. Rests until the next lease ends.
 *
 * The look and the write are two steps, and a holder may finish or renew in between: `ifExpired` makes the store look again in the write.
 */
export function reclaimDuty(parts: DutyParts): Duty {
  const { store, restsMs, isStopping } = parts;
  return {
    wokenBy: [],
    async turn() {
      for (;;) {
        const { jobs, nextInMs, restMs = 0 } = await store.expired(BATCH);
        const reclaimed = jobs.length === 0 ? 0 : await reclaim(parts, jobs);
        // Others were faster, or the leases were renewed: to look again at once would show the same.
        if (jobs.length > 0 && reclaimed === 0) return AFTER_NOTHING_MS;
        if (jobs.length < BATCH || isStopping()) return Math.min(Math.max(restMs, nextInMs ?? Infinity), restsMs.reclaim);
        await letOthersRun();
      }
    },
  };
}

async function reclaim({ store, random, announce, beforeReclaim, onLost }: DutyParts, jobs: readonly ExpiredRecord[]): Promise<number> {
  // A process that was stopped or blocked for long finds its own leases run out, though it is alive: it goes first.
  await beforeReclaim();
  const transitions = jobs.map((job) => settle(job, { kind: "lost" }, job, random()));
  const { settled } = await store.exchange(
    jobs.map((job, index) => settlementOf(job, transitions[index]!)),
    [],
  );
  const lost = jobs.flatMap((job, index) => (settled[index] === "ok" ? [{ ...factsOf(job), transition: transitions[index]! }] : []));
  announce.settled(lost);
  if (lost.length > 0) onLost(lost.map(({ transition, ...facts }) => ({ ...facts, lostCount: facts.lostCount + 1, to: transition.to })));
  return lost.length;
}

/** The job as it was before this loss. */
function factsOf({ id, type, queue, workerId, fence, attempt, retryCount, lostCount }: ExpiredRecord): Omit<LostLease, "to"> {
  return { id, type, queue, workerId, fence, attempt, retryCount, lostCount };
}

function settlementOf(job: ExpiredRecord, transition: Transition): Settlement {
  const { id, fence } = job;
  return { id, fence, outcome: "lost", transition, ifExpired: true, followUp: deliveryOf(job, fence, transition.to) };
}
