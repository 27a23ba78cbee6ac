/** What members tell their flows, and the work that follows: see Notice in core/steps.ts. All of it can be repeated. */
import { momentOf } from "../core/flow.ts";
import type { Told } from "../core/flow-progress.ts";
import type { Status } from "../core/job.ts";
import { OPEN } from "../core/lifecycle.ts";
import { callEnded, type CallError, callFence, type FlowNotice, type StepEnd } from "../core/steps.ts";
import { inBatches } from "../lib/slices.ts";
import { MAX_BATCH } from "../store/store.ts";
import { act } from "./act.ts";
import { cancelMembers } from "./cancel-members.ts";
import { changeFlows } from "./change-flows.ts";
import { endFlow } from "./end-flow.ts";
import type { FlowParts } from "./flow-parts.ts";
import { startMembers } from "./start-members.ts";

type Keyed<Told> = readonly [key: string, told: Told];

/**
 * Tells flows how members ended. Returns the keys of the notices that were delivered. A member that somebody retried after its flow was removed
 * need not wait for anything.
 */
export async function tellFlows({ store }: FlowParts, ends: readonly Keyed<StepEnd>[]): Promise<string[]> {
  const byFlow = [...Map.groupBy(ends, ([, { id }]) => id)];
  const works = byFlow.map(([id, some]) => {
    const told = some.map(([, end]) => toldBy(end)).sort((one, other) => one.at - other.at);
    return {
      id,
      names: [...new Set(told.map(({ name }) => name))],
      apply: (progress: { told(told: Told): void }) => told.forEach((one) => progress.told(one)),
    };
  });
  const answers = await changeFlows(store, works);
  const orphans = byFlow.flatMap(([, some], index) =>
    answers[index] === "missing" ? some.filter(([, { state }]) => state === "open") : [],
  );
  await inBatches(
    orphans.map(([, { by }]) => callEnded(by)),
    MAX_BATCH,
    (ids) => store.change(ids, { ...OPEN, leavesHeld: true }),
  );
  return byFlow.flatMap(([, some], index) => (answers[index] === "locked" ? [] : some.map(([key]) => key)));
}

function toldBy({ name, state, value, by }: StepEnd): Told {
  return { name, jobId: callEnded(by), at: momentOf(callFence(by), state === "open"), end: endOf(state, value), value };
}

function endOf(state: StepEnd["state"], value: string | null): Status | null {
  if (state === "open") return null;
  return state === "done" ? "completed" : (JSON.parse(value!) as CallError).status;
}

/** Does the work of flows. Returns the keys of the notices that were delivered. */
export async function workFlows(parts: FlowParts, notices: readonly Keyed<FlowNotice>[]): Promise<string[]> {
  const done: string[] = [];
  const acts = notices.filter(([, { work }]) => work === "act");
  const locked = await act(
    parts,
    acts.map(([, { id, names }]) => ({ id, names })),
  );
  done.push(...acts.flatMap(([key, { id }]) => (locked.has(id) ? [] : key)));
  for (const [key, notice] of notices) if (notice.work !== "act" && (await workAlone(parts, notice))) done.push(key);
  return done;
}

function workAlone(parts: FlowParts, { id, work, names }: FlowNotice): Promise<boolean> {
  switch (work) {
    case "start":
      return startMembers(parts, id, names);
    case "cancel":
      return cancelMembers(parts, id, { by: null, reason: `flow ${id} was cancelled` });
    case "end":
    case "act":
      return endFlow(parts, id);
  }
}
