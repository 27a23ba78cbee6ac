/** The limits of keys, and how much of them is used. take.ts applies them. */
import { decodeKeyLimits, limitsOfKey, NO_LIMITS } from "../../core/limits.ts";
import type { KeyLimitsRecord, KeyUse, LimitUse } from "../store.ts";
import type { Context } from "./context.ts";

export function setKeyLimits({ jobs, feed }: Context, queue: string, key: string | null, limits: string | null): void {
  const stored = jobs.queueOf(queue);
  if (key === null) {
    stored.limitsWithoutKey = limits;
    stored.turns.weightWithoutKey = limitsOfKey(NO_LIMITS, null, decodeKeyLimits(limits)).weight;
  } else {
    stored.limitKeys.of(key).own = limits;
    stored.turns.reconsider(stored.limitKeys.of(key));
  }
  feed.sendHint("queues");
}

export function listKeyLimits({ jobs }: Context, name: string, after: string | null | undefined, limit: number): KeyLimitsRecord[] {
  const queue = jobs.queues.get(name);
  if (queue === undefined) return [];
  const own: KeyLimitsRecord[] = [];
  if (after === undefined && queue.limitsWithoutKey !== null) own.push({ key: null, limits: queue.limitsWithoutKey });
  const named = Array.from(queue.limitKeys.all()).filter(
    ({ name, own }) => own !== null && (after === undefined || after === null || inBytes(after, name) < 0),
  );
  named.sort((one, other) => inBytes(one.name, other.name));
  return [...own, ...named.map(({ name, own }) => ({ key: name, limits: own! }))].slice(0, limit);
}

/** In the order of UTF-8, which is not that of UTF-16. */
function inBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

export function limitUse({ jobs, now }: Context, name: string, keys: readonly string[]): LimitUse | null {
  const queue = jobs.queues.get(name);
  if (queue === undefined) return null;
  const { running, rate, limitKeys } = queue;
  return { now, running, rate, keys: keys.map((key) => limitKeys.get(key)?.use(now) ?? UNUSED(key)) };
}

const UNUSED = (key: string): KeyUse => ({ key, running: 0, waiting: 0, heldUntil: null, rate: null, holders: [], limits: null });

export function busiestKeys({ jobs, now }: Context, name: string, limit: number): KeyUse[] {
  const busy = Array.from(jobs.queues.get(name)?.limitKeys.all() ?? []).filter(({ running, waiting }) => running.size + waiting > 0);
  busy.sort((one, other) => other.running.size - one.running.size || inBytes(one.name, other.name));
  return busy.slice(0, limit).map((key) => key.use(now));
}
