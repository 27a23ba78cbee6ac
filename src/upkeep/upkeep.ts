/**
 * ON ITS OWN TIME. Each duty has a loop of its own: one that fails or takes long does not hold up the others, and no error ends a loop.
 * Any number of processes may run all of them at once.
 */
import type { LostLease } from "../core/lease.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { Clock } from "../lib/clock.ts";
import { Loop } from "../lib/loop.ts";
import type { Store } from "../store/store.ts";
import { type Announce, type Duty, DUTIES, type DutyName, type DutyParts, RESTS_MS, type RestsMs } from "./duty.ts";
import { promoteDuty } from "./promote.ts";
import { pruneDuty } from "./prune.ts";
import { reclaimDuty } from "./reclaim.ts";
import { recurDuty } from "./recur.ts";
import { rerankDuty } from "./rerank.ts";

/** How long a duty rests after an error. */
const AFTER_TROUBLE_MS = 1000;
/** Turns that hints call for are so far apart at least: many processes hear each hint, and each turn may ask many partitions. */
const HINTED_APART_MS = 25;

export interface UpkeepOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly announce: Announce;
  /** Awaited before leases that ran out are taken for lost: lets this process renew its own first. */
  readonly beforeReclaim?: (() => Promise<void>) | undefined;
  /** Told of leases that were taken from their holders, once in all processes. */
  readonly onLost?: ((lost: readonly LostLease[]) => void) | undefined;
  /** Told of each error; the duty goes on after a second. */
  readonly onTrouble?: ((duty: DutyName, error: unknown) => void) | undefined;
  /** How long counters by hour are kept. Default 30 days. */
  readonly metricsRetentionDays?: number | undefined;
  /** The longest rests, where they shall differ from the usual. */
  readonly restsMs?: Partial<RestsMs> | undefined;
}

export interface Upkeep {
  /** No duty begins another turn; resolves when those under way have ended. May be called twice. */
  stop(): Promise<void>;
}

const MAKERS: Readonly<Record<DutyName, (parts: DutyParts) => Duty>> = {
  promote: promoteDuty,
  reclaim: reclaimDuty,
  recur: recurDuty,
  prune: pruneDuty,
  rerank: rerankDuty,
};

/** Starts all duties. */
export function startUpkeep(store: Store, options: UpkeepOptions): Upkeep {
  let stopping = false;
  const parts: DutyParts = {
    store,
    clock: options.clock,
    random: options.random,
    announce: options.announce,
    restsMs: { ...RESTS_MS, ...options.restsMs },
    beforeReclaim: options.beforeReclaim ?? (async () => {}),
    onLost: options.onLost ?? (() => {}),
    hoursMs: (options.metricsRetentionDays ?? 30) * DAY_MS,
    isStopping: () => stopping,
  };
  const running = DUTIES.map((name) => {
    const duty = MAKERS[name](parts);
    const loop = new Loop({ clock: options.clock, turn: () => duty.turn(), onError: (error) => report(options, name, error) });
    return { duty, loop };
  });
  const unwatch = store.watch((hint) => {
    // A job that is due later than the next turn calls for nothing: that turn will see it.
    const inMs = hint.topic === "due" ? hint.inMs : 0;
    for (const { duty, loop } of running) if (duty.wokenBy.includes(hint.topic)) loop.wakeWithin(inMs, HINTED_APART_MS);
  });
  for (const { loop } of running) loop.start();

  return {
    async stop() {
      stopping = true;
      unwatch();
      await Promise.all(running.map(({ loop }) => loop.stop()));
    },
  };
}

function report({ onTrouble }: UpkeepOptions, duty: DutyName, error: unknown): number {
  try {
    onTrouble?.(duty, error);
  } catch {
    // A listener that throws must not end a duty.
  }
  return AFTER_TROUBLE_MS;
}
