/** Limits on the wire, both ways. A rate without a burst has none; on the wire that is null. */
import type { KeyLimitUse, LimitOptions, OneKeyLimitOptions, QueueLimitUse } from "../../client/client.ts";
import type { KeyUseWire, LimitsInputWire, LimitsWire, LimitUseWire } from "../contract/limits.ts";
import { fromTimeOrNull, toTimeOrNull } from "./values.ts";

export function toLimitsWire(limits: LimitOptions): LimitsWire {
  const { perKey, ...ofQueue } = limits;
  return { ...toStarts(ofQueue), per_key: { ...toStarts(perKey ?? {}), waiting: perKey?.waiting ?? null } };
}

export function fromLimitsWire({ per_key: { waiting, ...perKey }, ...ofQueue }: LimitsWire): LimitOptions {
  return { ...fromStarts(ofQueue), perKey: { ...fromStarts(perKey), waiting } };
}

/** Limits as a caller sent them. What an answer shows may be sent back: a burst of null is none. */
export function fromLimitsInput(limits: LimitsInputWire | null | undefined): LimitOptions | null | undefined {
  if (limits === null || limits === undefined) return limits;
  const { per_key: perKey, ...ofQueue } = limits;
  return { ...withoutNullBurst(ofQueue), ...(perKey === undefined ? {} : { perKey: perKey === null ? null : withoutNullBurst(perKey) }) };
}

export function fromOwnInput(limits: object): OneKeyLimitOptions {
  return withoutNullBurst(limits);
}

function withoutNullBurst<Given extends object>(limits: Given): Given & OneKeyLimitOptions {
  const { burst, ...rest } = limits as Given & { readonly burst?: number | null };
  return (burst === null || burst === undefined ? rest : { ...rest, burst }) as Given & OneKeyLimitOptions;
}

export function toUseWire({ queue, limits, running, nextStartAt, keys }: QueueLimitUse): LimitUseWire {
  return {
    queue,
    limits: limits === null ? null : toLimitsWire(limits),
    running,
    next_start_at: toTimeOrNull(nextStartAt),
    keys: keys.map(toKeyUseWire),
  };
}

export function fromUseWire({ queue, limits, running, next_start_at, keys }: LimitUseWire): QueueLimitUse {
  return {
    queue,
    limits: limits === null ? null : fromLimitsWire(limits),
    running,
    nextStartAt: fromTimeOrNull(next_start_at),
    keys: keys.map(fromKeyUseWire),
  };
}

export function toKeyUseWire({ key, running, waiting, limits, own, heldUntil, nextStartAt, holders }: KeyLimitUse): KeyUseWire {
  return {
    key,
    running,
    waiting,
    limits: { ...toStarts(limits), waiting: limits.waiting ?? null, weight: limits.weight },
    own,
    held_until: toTimeOrNull(heldUntil),
    next_start_at: toTimeOrNull(nextStartAt),
    holders: [...holders],
  };
}

export function fromKeyUseWire({ key, running, waiting, limits, own, held_until, next_start_at, holders }: KeyUseWire): KeyLimitUse {
  return {
    key,
    running,
    waiting,
    limits: { ...fromStarts(limits), waiting: limits.waiting, weight: limits.weight },
    own,
    heldUntil: fromTimeOrNull(held_until),
    nextStartAt: fromTimeOrNull(next_start_at),
    holders,
  };
}

type StartsWire = Pick<LimitsWire, "running" | "rate" | "burst">;

function toStarts({
  running = null,
  rate = null,
  burst = null,
}: Pick<OneKeyLimitOptions, "running" | "rate"> & { readonly burst?: number | null | undefined }): StartsWire {
  return { running, rate, burst };
}

function fromStarts({ running, rate, burst }: StartsWire): Pick<OneKeyLimitOptions, "running" | "rate" | "burst"> {
  return { running, rate, ...(burst === null ? {} : { burst }) };
}
