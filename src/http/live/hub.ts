/**
 * THE HUB: one in each server, for any number of readers. It listens to the store only while somebody reads, and a little longer, so that
 * a reader whose connection broke misses nothing. One that comes back later gets a gap event.
 */
import type { Client } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { StreamLimits } from "../limits.ts";
import { WireError } from "../problem.ts";
import { Broadcast } from "./broadcast.ts";
import type { Reader } from "./reader.ts";

export interface HubOptions {
  readonly client: Pick<Client, "events">;
  readonly clock: Clock;
  readonly limits: StreamLimits;
}

/** Who opens a stream. */
export interface Listener {
  /** What its streams are counted by; null where no key is needed. */
  readonly caller: string | null;
  /** The id of the last event that it got. */
  readonly lastId: string | null;
}

/** How long it listens after the last reader has gone. */
const LINGER_MS = 15_000;
/** Streams last long: a place is not free soon. */
const RETRY_AFTER_MS = 10_000;

export class Hub {
  readonly #options: HubOptions;
  readonly #byCaller = new Map<string, number>();
  #broadcast: Broadcast | null = null;
  #lingering: Timer | null = null;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** Opens a reader, which must be closed. Throws if there are too many. */
  open({ caller, lastId }: Listener): Reader {
    this.#refuseTooMany(caller);
    this.#lingering?.cancel();
    this.#lingering = null;
    const { client, clock } = this.#options;
    const broadcast = (this.#broadcast ??= new Broadcast({ client, clock, onEnd: () => this.#forget(broadcast) }));
    this.#count(caller, 1);
    return broadcast.open(lastId, () => {
      this.#count(caller, -1);
      if (broadcast.readers === 0 && broadcast === this.#broadcast) this.#linger();
    });
  }

  /** Closes all readers and stops listening. A later reader starts it again. May be called twice. */
  close(): void {
    this.#broadcast?.end();
  }

  #linger(): void {
    this.#lingering = this.#options.clock.setTimer(() => this.close(), LINGER_MS);
  }

  #forget(broadcast: Broadcast): void {
    if (broadcast !== this.#broadcast) return;
    this.#lingering?.cancel();
    this.#lingering = null;
    this.#broadcast = null;
  }

  #refuseTooMany(caller: string | null): void {
    const { streams, streamsPerCaller } = this.#options.limits;
    if ((this.#broadcast?.readers ?? 0) >= streams) {
      throw new WireError("overloaded", `this server already has ${streams} open streams, its limit`, { retryAfterMs: RETRY_AFTER_MS });
    }
    if (caller !== null && (this.#byCaller.get(caller) ?? 0) >= streamsPerCaller) {
      throw new MillraceError("rate_limited", `one caller may have at most ${streamsPerCaller} open streams: close one`, {
        retryAfterMs: RETRY_AFTER_MS,
      });
    }
  }

  #count(caller: string | null, change: 1 | -1): void {
    if (caller === null) return;
    const count = (this.#byCaller.get(caller) ?? 0) + change;
    if (count === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, count);
  }
}
