/** Types of limits and of how much of them is used. */
import type { KeyLimitOptions, LimitOptions, OneKeyLimitOptions } from "../../core/limits.ts";
import type { ChangeOptions } from "../../core/manual-change.ts";
import type { NewQueueOptions } from "./queues.ts";

export type { KeyLimitOptions, LimitOptions, OneKeyLimitOptions };

/** Limits of single limit keys, and how much of all limits is used. The limits of a queue are among its settings: see `configure`. */
export interface Limits {
  /**
   * Gives a limit key limits of its own, which hold instead of those that the queue has for each key: null means no limit, and what you leave out is
   * as for every key. They replace the ones before and take effect with the next claim of any process. With `null` as the key, sets the weight of
   * all jobs without a key. Makes the queue if needed, unless `create` is false: then `not_found`.
   */
  set(queue: string, key: string | null, limits: OneKeyLimitOptions, options?: NewQueueOptions & ChangeOptions): Promise<void>;
  /** The limits of its own that a key has (with null: the jobs without a key); null if it has none. */
  get(queue: string, key: string | null): Promise<OneKeyLimitOptions | null>;
  /** All keys with limits of their own: the jobs without a key first, then by key. The `cursor` of one page asks for the next. */
  list(queue: string, page?: { readonly limit?: number | undefined; readonly cursor?: string | null | undefined }): Promise<KeyLimitsPage>;
  /** Removes the limits of its own that a key has: those for each key hold again. False if it had none. */
  remove(queue: string, key: string | null, options?: ChangeOptions): Promise<boolean>;
  /**
   * How much of its limits a queue uses now, with its ten busiest keys, or with the keys that you name (at most 100). Null if there is no such queue.
   */
  use(queue: string, options?: { readonly keys?: readonly string[] | undefined }): Promise<QueueLimitUse | null>;
}

/** A limit key with limits of its own. */
export interface KeyLimitsEntry {
  /** Null: all jobs without a key. */
  readonly key: string | null;
  readonly limits: OneKeyLimitOptions;
}

/** A page of keys; the last page has a null cursor. */
export interface KeyLimitsPage {
  readonly keys: readonly KeyLimitsEntry[];
  readonly cursor: string | null;
}

/** How much of its limits a queue uses. */
export interface QueueLimitUse {
  readonly queue: string;
  /** The limits of the queue; null if it has none. */
  readonly limits: LimitOptions | null;
  /** Jobs that run now. */
  readonly running: number;
  /** When the rate of the queue lets the next job of cost 1 start; null if it would let it start now. */
  readonly nextStartAt: number | null;
  /** The busiest keys, those with the most running jobs first; or those that you asked for, in your order. */
  readonly keys: readonly KeyLimitUse[];
}

/** How much of its limits one limit key uses. Jobs are counted up to 10,000. */
export interface KeyLimitUse {
  readonly key: string;
  readonly running: number;
  /** Jobs that are pending, scheduled or retrying. */
  readonly waiting: number;
  /** The limits that hold for it: its own, or those of the queue for each key. */
  readonly limits: KeyLimitOptions & { readonly weight: number };
  /** The limits of its own; null if it has none. */
  readonly own: OneKeyLimitOptions | null;
  /** Until when a handler holds it with `HoldKey`; null if none does. */
  readonly heldUntil: number | null;
  /** When its rate and its hold let the next job of cost 1 start; null if they would let it start now. */
  readonly nextStartAt: number | null;
  /** The ids of some of its running jobs, at most 10. */
  readonly holders: readonly string[];
}
