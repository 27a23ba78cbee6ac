/** READY: a claim round trip succeeded lately. Asked often, it looks seldom; and it never keeps who asks for long. */
import type { Client } from "../client/client.ts";
import { atMost, type Clock } from "../lib/clock.ts";
import { sharedRun } from "../lib/shared-run.ts";

/** So long a success counts. */
const FRESH_MS = 2000;
/** So long one who asks is kept at most. */
const PATIENCE_MS = 2000;

/** A claim of a type that no job has: it goes the whole way and takes nothing. */
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
  readonly #leases: Client["leases"];
  readonly #clock: Clock;
  #succeededAt = -Infinity;
  /** One at a time: while the store is away, those who ask do not pile up before it. */
  readonly #probe = sharedRun(() => this.#try());

  constructor({ leases }: Pick<Client, "leases">, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  async isReady(): Promise<boolean> {
    if (this.#clock.monotonic() - this.#succeededAt < FRESH_MS) return true;
    return (await atMost(this.#clock, PATIENCE_MS, this.#probe())) ?? false;
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
