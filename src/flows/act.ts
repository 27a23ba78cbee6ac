import type { Event, SingleEvent } from "../core/event.ts";
import { cutBecause, type Member, openAfter, readMember, REVIVE } from "../core/flow.ts";
import { jobIdOf, jobOf } from "../core/member-job.ts";
import type { FlowProgress } from "../core/flow-progress.ts";
import type { Move } from "../core/lifecycle.ts";
import { inBatches } from "../lib/slices.ts";
import { type ChangeAnswer, MAX_BATCH } from "../store/store.ts";
import { changeFlows } from "./change-flows.ts";
import { insertDeadlines } from "./deadlines.ts";
import type { FlowParts } from "./flow-parts.ts";

/** A member, and the flow that it belongs to. */
interface Actor {
  readonly flow: string;
  readonly member: Member;
}

/** Members whose jobs make the same move. */
interface Moving {
  readonly move: Move;
  readonly event: "job:due" | "job:cancelled" | null;
  readonly actors: Actor[];
}

/**
 * Does with the jobs of these members what their states say now, which may be more than when somebody asked. Returns the flows of which something
 * was locked.
 */
export async function act(
  parts: FlowParts,
  asked: readonly { readonly id: string; readonly names: readonly string[] }[],
): Promise<Set<string>> {
  const pages = asked.length === 0 ? [] : await parts.store.readFlows(asked);
  const moves = new Map<string, Moving>();
  for (const [index, page] of pages.entries()) {
    for (const text of page?.members ?? []) {
      const actor = { flow: asked[index]!.id, member: readMember(text) };
      const wanted = moveOf(actor.member, page!.now);
      if (wanted === null) continue;
      const [kind, move, event] = wanted;
      const moving = moves.get(kind) ?? { move, event, actors: [] };
      moves.set(kind, moving);
      moving.actors.push(actor);
    }
  }
  const locked = new Set<string>();
  for (const moving of moves.values()) for (const flow of await makeMove(parts, moving)) locked.add(flow);
  return locked;
}

/** What a member is to do, with a name for those that do the same. */
function moveOf({ plan, state }: Member, now: number): [kind: string, move: Move, event: Moving["event"]] | null {
  switch (state.phase) {
    case "opened": {
      if (state.end !== null) return null;
      const { runAt, delayMs } = plan.job;
      const waits = runAt === null ? delayMs : Math.max(0, runAt - now);
      return [`open ${waits}`, openAfter(waits), waits === 0 ? "job:due" : null];
    }
    case "cut":
      return state.end === null ? [`cut ${state.cause}`, cutBecause(state.cause!), "job:cancelled"] : null;
    case "revive":
      return ["revive", REVIVE, null];
    case "new":
    case "blocked":
      return null;
  }
}

async function makeMove(parts: FlowParts, { move, event, actors }: Moving): Promise<string[]> {
  const { store, announce } = parts;
  const ids = actors.map(({ flow, member }) => jobIdOf(flow, member));
  const answers = await inBatches(ids, MAX_BATCH, (some) => store.change(some, { ...move, leavesHeld: true }));
  if (event === "job:due" || event === null)
    await insertDeadlines(
      store,
      answers.flatMap((answer) => (answer.kind === "ok" ? answer.job : [])),
    );
  if (event !== null && announce.wanted()) announce.publish(answers.flatMap((answer) => eventOf(parts, answer, event)));
  if (event === "job:cancelled") for (const [index, { kind }] of answers.entries()) if (kind === "ok") announce.ended(ids[index]!);
  const gone = move === REVIVE ? actors.filter((_, index) => answers[index]!.kind === "missing") : [];
  const locked = actors.filter((_, index) => answers[index]!.kind === "locked").map(({ flow }) => flow);
  return [...locked, ...(await remake(parts, gone))];
}

function eventOf({ clock }: FlowParts, answer: ChangeAnswer, event: SingleEvent["event"] & ("job:due" | "job:cancelled")): Event[] {
  if (answer.kind !== "ok") return [];
  const { id: jobId, type, queue } = answer.job;
  return [{ event, at: clock.now(), jobId, type, queue }];
}

/** Members whose jobs were removed or pruned since they ended: they get new ones. Returns the flows of which something was locked. */
export async function remake({ store }: Pick<FlowParts, "store">, actors: readonly Actor[]): Promise<string[]> {
  if (actors.length === 0) return [];
  await inBatches(
    actors.map(({ flow, member }) => ({ ...jobOf(flow, renewed(member)), blocked: true })),
    MAX_BATCH,
    (some) => store.insert(some),
  );
  const names = Map.groupBy(actors, ({ flow }) => flow);
  const works = Array.from(names, ([id, some]) => {
    const remade = some.map(({ member }) => renewed(member));
    return {
      id,
      names: remade.map(({ name }) => name),
      apply: (progress: FlowProgress) => remade.forEach(({ name, state }) => progress.remade(name, state.job)),
    };
  });
  const answers = await changeFlows(store, works);
  return works.flatMap(({ id }, index) => (answers[index] === "locked" ? id : []));
}

/** With another job. */
function renewed(member: Member): Member {
  const { name, plan, state } = member;
  return { name, plan, state: { ...state, job: state.job + 1 } };
}
