import { readHead, readMember } from "../core/flow.ts";
import { jobIdOf } from "../core/member-job.ts";
import { CANCEL } from "../core/lifecycle.ts";
import type { Actor } from "../core/manual-change.ts";
import { MAX_BATCH } from "../store/store.ts";
import type { FlowParts } from "./flow-parts.ts";

/** Cancels the jobs of all members that have not ended. Returns false if some have no job yet, or are locked. */
export async function cancelMembers({ store, clock, announce }: FlowParts, id: string, actor: Actor): Promise<boolean> {
  let isDone = true;
  for (let after: string | null = null; ;) {
    const [page] = await store.readFlows([{ id, after, limit: MAX_BATCH }]);
    // Somebody has retried it since: then it goes on.
    if (page === null || !readHead(page!.head).isCancelled) return true;
    const members = page!.members.map(readMember);
    const open = members.filter(({ state }) => state.end === null);
    const ids = open.map((member) => jobIdOf(id, member));
    const answers = ids.length === 0 ? [] : await store.change(ids, { ...CANCEL, leavesHeld: true }, { action: "cancelled", ...actor });
    for (const answer of answers) {
      if (answer.kind === "locked") isDone = false;
      if (answer.kind !== "ok") continue;
      const { id: jobId, type, queue } = answer.job;
      announce.ended(jobId);
      if (announce.wanted()) announce.publish([{ event: "job:cancelled", at: clock.now(), jobId, type, queue }]);
    }
    if (open.some(({ state }) => state.phase === "new")) isDone = false;
    after = page!.cursor;
    if (after === null) return isDone;
  }
}
