/** READY: a claim round trip succeeded lately. Asked often, it looks seldom; and it never keeps who asks for long. */
import type { Client } from "../client/client.ts";
import { type Clock, sleep } from "../lib/clock.ts";

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
  #probe: Promise<boolean> | null = null;

  constructor({ leases }: Pick<Client, "leases">, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  async isReady(): Promise<boolean> {
    if (this.#clock.monotonic() - this.#succeededAt < FRESH_MS) return true;
    this.#probe ??= this.#try();
    const asked = new AbortController();
    const tooLong = sleep(this.#clock, PATIENCE_MS, asked.signal).then(() => false);
    const isReady = await Promise.race([this.#probe, tooLong]);
    asked.abort();
    return isReady;
  }

  /** One at a time: while the store is away, those who ask do not pile up before it. */
  async #try(): Promise<boolean> {
    try {
      await this.#leases.exchange([], PROBE);
      this.#succeededAt = this.#clock.monotonic();
      return true;
    } catch {
      return false;
    } finally {
      this.#probe = null;
    }
  }
}
