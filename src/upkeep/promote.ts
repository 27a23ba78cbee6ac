import type { Event } from "../core/event.ts";
import { letOthersRun, type Duty, type DutyParts } from "./duty.ts";

const BATCH = 500;

/** Makes scheduled and retrying jobs pending when they are due. Rests until the next one is due, at most a second. */
export function promoteDuty(parts: DutyParts): Duty {
  const { restsMs, isStopping } = parts;
  return {
    wokenBy: ["due"],
    async turn() {
      let answer = await promote(parts);
      while (answer.nextInMs === 0 && answer.moved > 0 && !isStopping()) {
        await letOthersRun();
        answer = await promote(parts);
      }
      return Math.max(1, Math.min(answer.nextInMs ?? Infinity, restsMs.promote));
    },
  };
}

/** Asks which jobs they were only while somebody listens. */
async function promote({ store, clock, announce }: DutyParts): Promise<{ moved: number; nextInMs: number | null }> {
  const answer = await store.promote(BATCH, announce.wanted());
  const { jobs = [] } = answer;
  if (jobs.length > 0) {
    const at = clock.now();
    announce.publish(jobs.map(({ id: jobId, type, queue }): Event => ({ event: "job:due", at, jobId, type, queue })));
  }
  return answer;
}
