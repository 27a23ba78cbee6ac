import { letOthersRun, type Duty, type DutyParts } from "./duty.ts";

const BATCH = 500;

/** Gives waiting jobs a new rank after the head start changed. The call that changed it does this; here it is finished after a crash. */
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
