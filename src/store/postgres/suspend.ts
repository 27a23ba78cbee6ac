import type { NewJob } from "../../core/job.ts";
import type { NewStep } from "../../core/steps.ts";
import { NOTICE, STEP_KIND, STEP_STATE } from "../numbers.ts";
import type { Settlement } from "../store.ts";
import type { Lane } from "./catalog.ts";
import { encodeFence, encodeText } from "./codec.ts";
import { type JobItem, jobItem } from "./insert.ts";
import { encodeNotice } from "./notices.ts";

/** What an exchange did beside its transitions: see functions/suspend.ts. */
export interface DurableDone {
  /** When the first of the suspended jobs is due; null if none is. */
  readonly dueInMs: number | null;
  /** How many notices it left. */
  readonly notices: number | null;
}

export const hasWaits = ({ waits = [] }: Settlement): boolean => waits.length > 0;

/** Whether a settlement does more than its transition says. */
export function isDurable(settlement: Settlement): boolean {
  return settlement.notice !== undefined || hasWaits(settlement) || (settlement.calls ?? []).length > 0;
}

/** Waits, calls and notices, each with the number of its settlement, as `exchange` takes them. */
export interface Durable {
  readonly waits?: readonly object[];
  readonly calls?: readonly JobItem[];
  readonly notices?: readonly object[];
}

/** Null: there are none. `order` has the index of each settlement, by its number. */
export function encodeDurable(
  settlements: readonly Settlement[],
  order: readonly number[],
  lanes: ReadonlyMap<NewJob, Lane>,
): Durable | null {
  if (!settlements.some(isDurable)) return null;
  const waits: object[] = [];
  const calls = new Map<string, JobItem>();
  const notices: object[] = [];
  order.forEach((index, at) => {
    const settlement = settlements[index]!;
    const ord = at + 1;
    for (const wait of settlement.waits ?? []) waits.push(waitItem(settlement, wait, ord));
    for (const job of settlement.calls ?? []) calls.set(job.id, callItem(job, lanes.get(job)!, ord));
    const { notice } = settlement;
    if (notice !== undefined) notices.push({ ord, kind: NOTICE[notice.kind], notice: encodeNotice(notice) });
  });
  return {
    ...(waits.length > 0 && { waits }),
    ...(calls.size > 0 && { calls: [...calls.values()] }),
    ...(notices.length > 0 && { notices }),
  };
}

function waitItem(settlement: Settlement, { name, kind, state, value, untilMs, detail }: NewStep, ord: number): object {
  return {
    ord,
    id: settlement.id,
    fence: encodeFence(settlement),
    if_expired: settlement.ifExpired,
    name: encodeText(name),
    kind: STEP_KIND[kind],
    state: STEP_STATE[state],
    value,
    until: untilMs === null ? null : Math.round(untilMs),
    detail,
  };
}

function callItem(job: NewJob, lane: Lane, ord: number): JobItem {
  // The server adds the payload: it may be large, and is already there.
  return Object.assign(jobItem(job, lane), { ord, notice: JSON.stringify({ ...job, payload: undefined }) });
}

/** When a called job is due, about; Infinity if never. */
export function dueInMsOf({ blocked, runAt, delayMs }: NewJob): number {
  if (blocked === true) return Infinity;
  return runAt === null ? delayMs : 1;
}
