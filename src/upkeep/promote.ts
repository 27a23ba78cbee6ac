import { breathe, type Duty, type DutyParts } from "./duty.ts";

const BATCH = 500;

/** Scheduled and retrying jobs become pending when they are due. Rests until the next one is, a second at most. */
export function promoteDuty({ store, rhythm, isStopping }: DutyParts): Duty {
  return {
    wokenBy: ["due"],
    async turn() {
      let answer = await store.promote(BATCH);
      while (answer.nextInMs === 0 && answer.moved > 0 && !isStopping()) {
        await breathe();
        answer = await store.promote(BATCH);
      }
      return Math.max(1, Math.min(answer.nextInMs ?? Infinity, rhythm.promote));
    },
  };
}
