/**
 * THE HUB: one in each server, whatever the number of those who read. It listens to the store only while somebody reads, and a little longer, so
 * that one whose connection broke finds what it missed; who comes back later is told of a gap.
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
  readonly room: StreamLimits;
}

/** Who wants to read. */
export interface Listener {
  /** By what its streams are counted together; null where nobody has to say who they are. */
  readonly caller: string | null;
  /** The id of the last event that it had. */
  readonly lastId: string | null;
}

/** So long it listens on after the last reader has gone. */
const LINGER_MS = 15_000;
/** A stream ends when somebody closes a page: not soon. */
const RETRY_AFTER_MS = 10_000;

export class Hub {
  readonly #options: HubOptions;
  readonly #byCaller = new Map<string, number>();
  #broadcast: Broadcast | null = null;
  #lingering: Timer | null = null;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** A place for a reader, which must be closed. Throws when there are too many. */
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

  /** Closes all readers, and listens no more. One that comes later begins anew. May be called twice. */
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
    const { streams, streamsPerCaller } = this.#options.room;
    if ((this.#broadcast?.readers ?? 0) >= streams) {
      throw new WireError("overloaded", `this server has ${streams} open streams, and takes no more`, { retryAfterMs: RETRY_AFTER_MS });
    }
    if (caller !== null && (this.#byCaller.get(caller) ?? 0) >= streamsPerCaller) {
      throw new MillraceError("rate_limited", `one caller may have ${streamsPerCaller} open streams: close one`, {
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
