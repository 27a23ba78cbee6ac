import { letOthersRun, type Duty, type DutyParts } from "./duty.ts";

const BATCH = 500;

/** A changed head start gives waiting jobs a new rank. Whoever changed it does that; this ends what a crash left undone. */
export function rerankDuty({ store, restsMs, isStopping }: DutyParts): Duty {
  return {
    wokenBy: [],
    async turn() {
      for (const { name } of await store.queues()) {
        while ((await store.rerank(name, BATCH)) && !isStopping()) await letOthersRun();
      }
      return restsMs.rerank;
    },
  };
}
