/** READ, WORK OUT, STORE: changes what is kept beside flows, as often as somebody else is faster. */
import { type Member, readHead, readMember, textOfMember, textOfState, type FlowHead } from "../core/flow.ts";
import { FlowProgress } from "../core/flow-progress.ts";
import { inBatches } from "../lib/slices.ts";
import { type FlowChange, type FlowPage, MAX_BATCH, type Store } from "../store/store.ts";

/** A change of one flow. */
export interface FlowWork {
  readonly id: string;
  /** The members that it touches. What depends on them is read, too. */
  readonly names: readonly string[];
  /** It tells no end of them: only the members that wait for all others are read, too. */
  readonly readsOnlyLast?: boolean | undefined;
  /** Throws to refuse the change. May be called again, with what is stored by then. */
  readonly apply: (progress: FlowProgress, head: FlowHead, members: ReadonlyMap<string, Member>) => void;
}

/** `locked`: another transaction holds the flow, or others were faster again and again. */
export type FlowWorkAnswer = "ok" | "missing" | "locked";

/** How often others may be faster. Each time one of them has got on, so this is a bound, not a wait. */
const MAX_TRIES = 100;

/** One work for each flow. Answers in order. */
export async function changeFlows(store: Store, works: readonly FlowWork[]): Promise<FlowWorkAnswer[]> {
  const answers = new Map<FlowWork, FlowWorkAnswer>();
  let left = works;
  for (let tries = 0; left.length > 0 && tries < MAX_TRIES; tries++) {
    const tried = await inBatches(left, MAX_BATCH, (some) => tryOnce(store, some));
    const stale = new Set<FlowWork>();
    for (const [index, answer] of tried.entries()) {
      if (answer === "stale") stale.add(left[index]!);
      else answers.set(left[index]!, answer);
    }
    left = left.filter((work) => stale.has(work));
  }
  return works.map((work) => answers.get(work) ?? "locked");
}

async function tryOnce(store: Store, works: readonly FlowWork[]): Promise<(FlowWorkAnswer | "stale")[]> {
  const pages = await readWithNext(store, works);
  const changes = works.map((work, index) => {
    const page = pages[index]!;
    return typeof page === "string" ? page : changeOf(work, page);
  });
  const toStore = changes.filter((change) => typeof change === "object");
  const stored = toStore.length === 0 ? [] : await store.changeFlows(toStore);
  let next = 0;
  return changes.map((change) => (typeof change === "object" ? stored[next++]! : change));
}

/** What the store is to change; `ok` if nothing changes. */
function changeOf({ id, apply }: FlowWork, page: FlowPage): FlowChange | "ok" {
  const head = readHead(page.head);
  const members = page.members.map(readMember);
  const progress = new FlowProgress(id, head, members, page.now);
  apply(progress, head, new Map(members.map((member) => [member.name, member])));
  const outcome = progress.outcome();
  const text = JSON.stringify(outcome.head);
  const { notices } = outcome;
  if (text === page.head && outcome.states.length + outcome.added.length + notices.length === 0) return "ok";
  return {
    id,
    version: page.version,
    head: text,
    states: outcome.states.map(({ name, state }) => ({ name, state: textOfState(state) })),
    added: outcome.added.map(textOfMember),
    notices,
  };
}

/** The flows with the members that the works name, and those that depend on these. */
async function readWithNext(store: Store, works: readonly FlowWork[]): Promise<(FlowPage | "missing" | "stale")[]> {
  const pages = await store.readFlows(works.map(({ id, names }) => ({ id, names })));
  const needed = pages.map((page, index) => {
    if (page === null) return [];
    const members = page.members.map(readMember);
    return works[index]!.readsOnlyLast === true
      ? FlowProgress.last(readHead(page.head), members)
      : FlowProgress.needed(readHead(page.head), members);
  });
  const reads = works.flatMap(({ id }, index) => (needed[index]!.length === 0 ? [] : { id, names: needed[index]! }));
  const more = reads.length === 0 ? [] : await store.readFlows(reads);
  let next = 0;
  return pages.map((page, index) => {
    if (page === null) return "missing";
    if (needed[index]!.length === 0) return page;
    const rest = more[next++]!;
    // Both reads must be of one moment.
    if (rest === null || rest.version !== page.version) return "stale";
    return { ...page, members: [...page.members, ...rest.members] };
  });
}
