import { inBatches } from "../measure/call.ts";
import type { OnJobs, Queue, Work } from "../queue.ts";

/**
 * The practical limit: batched statements on the same tables or keys, indexes and durability as ours, without our rules, counters,
 * promises and workers.
 */
export interface Bare extends Queue {
  /** Inserts one batch. */
  insert(jobs: number): Promise<unknown>;
}

/** How a bare engine is opened on a fresh place. */
export type OpenBare = (place: { readonly url: string }) => Promise<Bare>;

/** What an engine has to give. */
export interface BareStatements<Held> {
  /** How many batches are in flight. */
  readonly inFlight: number;
  readonly insert: (jobs: number) => Promise<unknown>;
  /** One commit: completes what is held, and claims at most `limit` jobs. */
  readonly exchange: (held: readonly Held[], limit: number) => Promise<readonly Held[]>;
  readonly close: () => Promise<void>;
}

const FILLED_AT_ONCE = 1000;

export function bareQueue<Held>({ inFlight, insert, exchange, close }: BareStatements<Held>): Bare {
  return {
    insert,
    add: () => insert(1),
    fill: (jobs) => inBatches(jobs, { batch: FILLED_AT_ONCE, inFlight }, insert),
    work: async ({ slots }, onJobs) => drainInTurns(exchange, slots / inFlight, inFlight, onJobs),
    close,
  };
}

/** Loops that each complete a batch and claim the next, until nothing is left. */
function drainInTurns<Held>(exchange: BareStatements<Held>["exchange"], batch: number, inFlight: number, onJobs: OnJobs): Work {
  let isStopping = false;
  const loop = async (): Promise<void> => {
    let held: readonly Held[] = [];
    do {
      const ended = held.length;
      held = await exchange(held, isStopping ? 0 : batch);
      onJobs(ended);
    } while (held.length > 0);
  };
  const loops = Promise.all(Array.from({ length: inFlight }, loop));
  return {
    stop() {
      isStopping = true;
      return loops;
    },
  };
}
