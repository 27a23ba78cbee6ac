import { deliveryOf } from "../core/delivery.ts";
import { settle, type Transition } from "../core/lifecycle.ts";
import { noticeOf } from "../core/steps.ts";
import type { LostLease } from "../core/lease.ts";
import type { ExpiredRecord, Settlement } from "../store/store.ts";
import { letOthersRun, type Duty, type DutyParts } from "./duty.ts";

const BATCH = 200;
const AFTER_NOTHING_MS = 1000;

/**
 * Expired leases. The outcome is "lost": the core counts it separately from failures and decides when the job runs again. Rests until the next
 * lease expires.
 *
 * The worker may finish or renew between the read and the write: `ifExpired` makes the store check again in the write.
 */
export function reclaimDuty(parts: DutyParts): Duty {
  const { store, restsMs, isStopping } = parts;
  return {
    wokenBy: [],
    async turn() {
      for (;;) {
        const { jobs, nextInMs, restMs = 0 } = await store.expired(BATCH);
        const reclaimed = jobs.length === 0 ? 0 : await reclaim(parts, jobs);
        // Others were faster, or the leases were renewed: another read now would show the same.
        if (jobs.length > 0 && reclaimed === 0) return AFTER_NOTHING_MS;
        if (jobs.length < BATCH || isStopping()) return Math.min(Math.max(restMs, nextInMs ?? Infinity), restsMs.reclaim);
        await letOthersRun();
      }
    },
  };
}

async function reclaim({ store, random, announce, beforeReclaim, onLost }: DutyParts, jobs: readonly ExpiredRecord[]): Promise<number> {
  // A process that was suspended or blocked finds its own leases expired, although it is alive: it renews them first.
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
  const followUp = deliveryOf(job, fence, transition.to);
  return { id, fence, outcome: "lost", transition, ifExpired: true, followUp, notice: noticeOf(job, transition) };
}
