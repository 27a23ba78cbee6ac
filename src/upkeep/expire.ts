import type { Event } from "../core/event.ts";
import { DEADLINE_QUEUE, expire, jobOfDeadline } from "../core/deadline.ts";
import type { JobRecord } from "../core/job.ts";
import { settle } from "../core/lifecycle.ts";
import { type LeasedRecord, MAX_BATCH, type Settlement } from "../store/store.ts";
import { type Duty, type DutyParts, letOthersRun } from "./duty.ts";

const LEASE_MS = 30_000;

/** Ends jobs that did not start in time: see core/deadline.ts. Works the internal jobs that come due at their deadlines. */
export function expireDuty(parts: DutyParts): Duty {
  const { store, restsMs, isStopping } = parts;
  return {
    wokenBy: [],
    wakesFor: DEADLINE_QUEUE,
    async turn() {
      for (;;) {
        const claim = {
          workerId: "upkeep",
          queues: [DEADLINE_QUEUE],
          types: "*" as const,
          limit: MAX_BATCH,
          leaseMs: LEASE_MS,
          turn: 0,
          again: false,
          local: true,
        };
        const { claimed } = await store.exchange([], [claim]);
        const deadlines = claimed[0] ?? [];
        if (deadlines.length === 0) return restsMs.expire;
        await endLate(parts, deadlines);
        if (isStopping()) return restsMs.expire;
        await letOthersRun();
      }
    },
  };
}

async function endLate(parts: DutyParts, deadlines: readonly LeasedRecord[]): Promise<void> {
  const { store, clock, announce, random } = parts;
  const jobs = await store.find(deadlines.map(jobOfDeadline));
  const locked = new Set<string>();
  for (const [index, job] of jobs.entries()) {
    // One that was claimed before has started, though it may wait again. One that was merged into may be due later than it was.
    if (job === null || job.status !== "pending" || job.fence !== 0 || deadlineAt(job) > deadlines[index]!.runAt) continue;
    const [answer] = await store.change([job.id], expire(job));
    if (answer!.kind === "locked") locked.add(job.id);
    if (answer!.kind !== "ok") continue;
    announce.ended(job.id);
    const { id: jobId, type, queue } = job;
    const event: Event = { event: "job:cancelled", at: clock.now(), jobId, type, queue };
    if (announce.wanted()) announce.publish([event]);
  }
  const settlements = deadlines.map((deadline): Settlement => {
    const { id, fence } = deadline;
    const outcome = locked.has(jobOfDeadline(deadline)) ? ({ kind: "snooze", delayMs: 1000 } as const) : DONE;
    return { id, fence, outcome: outcome.kind, transition: settle(deadline, outcome, { deadLetters: false }, random()), ifExpired: false };
  });
  await store.exchange(settlements, []);
}

const deadlineAt = ({ runAt, startWithinMs }: JobRecord): number => runAt + (startWithinMs ?? Infinity);

const DONE = { kind: "completed", result: null, runMs: 0 } as const;
