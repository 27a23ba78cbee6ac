/** UPKEEP. Each duty has its own loop: one that fails or takes long does not delay the others. Any number of processes can do it at once. */
import type { LostLease } from "../core/lease.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { Clock } from "../lib/clock.ts";
import { Loop } from "../lib/loop.ts";
import type { Hint, Store } from "../store/store.ts";
import { type Announce, type Duty, DUTIES, type DutyName, type DutyParts, RESTS_MS, type RestsMs } from "./duty.ts";
import { deliverDuty } from "./deliver.ts";
import { expireDuty } from "./expire.ts";
import { promoteDuty } from "./promote.ts";
import { pruneDuty } from "./prune.ts";
import { reclaimDuty } from "./reclaim.ts";
import { recurDuty } from "./recur.ts";
import { rerankDuty } from "./rerank.ts";

const AFTER_TROUBLE_MS = 1000;
/**
 * The least time between turns caused by hints: many processes get each hint, and each turn may ask many partitions. Not so for notices, of which
 * only one process hears: a chain of jobs waits for each.
 */
const HINTED_APART_MS = 25;

export interface UpkeepOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly announce: Announce;
  /** Awaited before expired leases count as lost: lets this process renew its own first. */
  readonly beforeReclaim?: (() => Promise<void>) | undefined;
  /** Called with lost leases; each is reported by one process. */
  readonly onLost?: ((lost: readonly LostLease[]) => void) | undefined;
  /** Called with each error before `stop`; the duty continues after a second. */
  readonly onTrouble?: ((duty: DutyName, error: unknown) => void) | undefined;
  /** How many days counters by hour are kept. Default 30. */
  readonly metricsRetentionDays?: number | undefined;
  /** The longest rests, if they should differ from the defaults. */
  readonly restsMs?: Partial<RestsMs> | undefined;
  /** The least time between turns caused by hints. Tests whose clock stands still set 0. */
  readonly hintsApartMs?: number | undefined;
}

export interface Upkeep {
  /** Starts no more turns; resolves when the current ones have ended. May be called twice. */
  stop(): Promise<void>;
}

function isWoken({ wokenBy, wakesFor }: Duty, hint: Hint): boolean {
  return wokenBy.includes(hint.topic) || (hint.topic === "work" && hint.queue === wakesFor);
}

const MAKERS: Readonly<Record<DutyName, (parts: DutyParts) => Duty>> = {
  promote: promoteDuty,
  reclaim: reclaimDuty,
  recur: recurDuty,
  prune: pruneDuty,
  rerank: rerankDuty,
  deliver: deliverDuty,
  expire: expireDuty,
};

export function startUpkeep(store: Store, options: UpkeepOptions): Upkeep {
  let stopping = false;
  const { hintsApartMs = HINTED_APART_MS } = options;
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
    // The last turn may fail because the store is being closed: nothing is tried again, and another process does the work.
    const onError = (error: unknown): number => (stopping ? 0 : report(options, name, error));
    const loop = new Loop({ clock: options.clock, turn: () => duty.turn(), onError });
    return { duty, loop };
  });
  const unwatch = store.watch((hint) => {
    // If a job is due later than the next turn, that turn will see it.
    const inMs = hint.topic === "due" ? hint.inMs : 0;
    for (const { duty, loop } of running) if (isWoken(duty, hint)) loop.wakeWithin(inMs, hint.topic === "notices" ? 0 : hintsApartMs);
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
