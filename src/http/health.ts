/** READY: a claim round trip succeeded recently. However often it is asked, it probes seldom, and it answers soon. */
import type { WorkerClient } from "../client/client.ts";
import { atMost, type Clock } from "../lib/clock.ts";
import { sharedRun } from "../lib/shared-run.ts";

/** How long a success counts. */
const FRESH_MS = 2000;
/** The longest that an answer waits for a probe. */
const MAX_WAIT_MS = 2000;

/** A claim of a type that no job has: a full round trip that takes nothing. */
export const PROBE = {
  workerId: "millrace:probe",
  queues: ["millrace:probe"],
  types: ["millrace:probe"],
  limit: 1,
  leaseMs: 1000,
  turn: 0,
  again: false,
};

export class Readiness {
  readonly #leases: WorkerClient["leases"];
  readonly #clock: Clock;
  #succeededAt = -Infinity;
  /** One at a time: while the store is away, probes do not pile up. */
  readonly #probe = sharedRun(() => this.#try());

  constructor({ leases }: Pick<WorkerClient, "leases">, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  async isReady(): Promise<boolean> {
    if (this.#clock.monotonic() - this.#succeededAt < FRESH_MS) return true;
    return (await atMost(this.#clock, MAX_WAIT_MS, this.#probe())) ?? false;
  }

  async #try(): Promise<boolean> {
    try {
      await this.#leases.exchange([], PROBE);
      this.#succeededAt = this.#clock.monotonic();
      return true;
    } catch {
      return false;
    }
  }
}
