/** The ends of jobs with a coalescing key: see core/coalesce.ts. */
import { FOLLOW_UP_COMES_MS, type KeyHead, keyMove } from "../core/coalesce.ts";
import { openAfter } from "../core/flow.ts";
import { isTerminal, type JobRecord } from "../core/job.ts";
import { callEnded, type StepEnd } from "../core/steps.ts";
import type { Store } from "../store/store.ts";
import { insertDeadlines } from "./deadlines.ts";
import type { FlowParts } from "./flow-parts.ts";

/** Returns the keys of the notices that were delivered. */
export async function tellKeys(parts: FlowParts, ends: readonly (readonly [key: string, end: StepEnd])[]): Promise<string[]> {
  const told: string[] = [];
  for (const [key, { id, by }] of ends) if (await jobEnded(parts, id, callEnded(by))) told.push(key);
  return told;
}

/**
 * A job of a key has ended: what was enqueued meanwhile follows, or the key ends, at once or with its window. Can be repeated. Returns false if it
 * has to be told again.
 */
export async function jobEnded(parts: FlowParts, id: string, job: string): Promise<boolean> {
  const { store } = parts;
  for (;;) {
    const [page] = await store.readFlows([{ id, names: [] }]);
    if (page === null) return true;
    const { now, version } = page!;
    const head = JSON.parse(page!.head) as KeyHead;
    if (head.isOver) return endKey(store, id);
    if (head.followUp === job) {
      // Somebody cancelled it before its turn.
      if (await changeHead(store, id, version, { ...head, followUp: null, followUpDue: null })) return true;
      continue;
    }
    // Told before: the key may still have to expire.
    if (head.job === null && head.windowEnd !== null) return letKeyExpire(store, id);
    if (head.job !== job) return true;
    const [ended, followUp] = await store.find([job, head.followUp ?? job]);
    // Somebody has retried it since, or it has just been stored by a call that met the key without it.
    if (ended !== null && !isTerminal(ended!.status)) return true;
    const window = windowAfter(head, ended ?? null);
    if (head.followUp !== null) {
      if (followUp === null && now - head.followUpAt < FOLLOW_UP_COMES_MS) return false;
      const due = Math.max(window ?? 0, head.followUpDue ?? 0);
      const isThere = followUp !== null && (await open(store, head.followUp, Math.max(0, due - now)));
      if (isThere === null) return false;
      const next = isThere ? head.followUp : null;
      if (next !== null && (await changeHead(store, id, version, { ...head, job: next, since: now, followUp: null, followUpDue: null })))
        return true;
      if (next !== null) continue;
    }
    const isOver = window === null || window <= now;
    if (!(await changeHead(store, id, version, { ...head, job: null, followUp: null, followUpDue: null, windowEnd: window, isOver })))
      continue;
    return isOver ? endKey(store, id) : letKeyExpire(store, id);
  }
}

/** When the window of a throttle ends that began with this job. */
function windowAfter({ everyMs }: KeyHead, job: JobRecord | null): number | null {
  return everyMs === null || job === null ? null : job.runAt + everyMs;
}

/** Null: another transaction holds it. */
async function open(store: Store, id: string, delayMs: number): Promise<boolean | null> {
  const [answer] = await store.change([id], { ...openAfter(delayMs), leavesHeld: true });
  if (answer!.kind === "ok") await insertDeadlines(store, [answer!.job]);
  return answer!.kind === "locked" ? null : answer!.kind !== "missing";
}

export async function changeHead(store: Store, id: string, version: number, head: KeyHead): Promise<boolean> {
  const [answer] = await store.changeFlows([{ id, version, head: JSON.stringify(head), states: [], added: [], notices: [] }]);
  return answer === "ok";
}

/** The idempotency key lives as long as the window: until then a call finds what is known. Then retention removes it. */
async function letKeyExpire(store: Store, id: string): Promise<boolean> {
  const [answer] = await store.change([id], keyMove("completed"));
  if (answer!.kind !== "ok") return answer!.kind !== "locked";
  const [page] = await store.readFlows([{ id, names: [] }]);
  // A call has just begun with it again.
  const isTaken = page !== null && (JSON.parse(page!.head) as KeyHead).job !== null;
  return !isTaken || (await store.change([id], keyMove("blocked")))[0]!.kind !== "locked";
}

/** Nothing is left of the key. Whoever asks meanwhile does the same, and then begins anew. */
export async function endKey(store: Store, id: string): Promise<boolean> {
  // Cancelled, because its idempotency key is free at once then.
  const [answer] = await store.change([id], keyMove("cancelled"));
  if (answer!.kind === "locked") return false;
  const [removed] = await store.remove([id], ["cancelled"]);
  return removed!.kind !== "locked";
}
