import type { Client } from "../../client/client.ts";
import type { Event } from "../../core/event.ts";
import { EventDigest, SUMS_EVERY_MS } from "../../core/event-digest.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Reader } from "./reader.ts";
import { Ring } from "./ring.ts";

/** Readers are woken so often at most: events that come closer together go out in one write. */
const TICK_MS = 50;

export interface BroadcastOptions {
  readonly client: Pick<Client, "events">;
  readonly clock: Clock;
  /** The client was closed, and with it this. */
  readonly onEnd: () => void;
}

/** ONE LIFE OF THE HUB: listens to the store once, numbers what it hears, and has any number of readers. */
export class Broadcast {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  readonly #listening = new AbortController();
  readonly #ring = new Ring();
  readonly #digest = new EventDigest();
  readonly #readers = new Set<Reader>();
  /** Not numbered yet; the digest bounds how many they can be in a tick. */
  #heard: Event[] = [];
  #tick: Timer | null = null;
  #tickedAt = Number.NEGATIVE_INFINITY;
  #sums: Timer | null = null;

  constructor({ client, clock, onEnd }: BroadcastOptions) {
    this.#clock = clock;
    this.#onEnd = onEnd;
    void this.#listen(client.events({ signal: this.#listening.signal }));
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** A reader from now on, or from after the event with this id. */
  open(lastId: string | null, onClose: () => void): Reader {
    const reader: Reader = new Reader({
      ring: this.#ring,
      lastId,
      now: () => this.#clock.now(),
      onClose: () => {
        this.#readers.delete(reader);
        onClose();
      },
    });
    this.#readers.add(reader);
    return reader;
  }

  /** Listens no more, and closes all readers. May be called twice. */
  end(): void {
    if (this.#listening.signal.aborted) return;
    this.#listening.abort();
    this.#tick?.cancel();
    this.#sums?.cancel();
    for (const reader of this.#readers) reader.close();
    this.#onEnd();
  }

  async #listen(events: AsyncIterable<Event>): Promise<void> {
    try {
      for await (const event of events) this.#hear(event);
    } catch {
      // As when it ends: whoever reads opens a stream again, and is told why that cannot be.
    }
    this.end();
  }

  #hear(event: Event): void {
    this.#tellSoon(this.#digest.take([event], this.#clock.monotonic(), this.#clock.now()));
    if (this.#digest.hasSums) this.#sums ??= this.#clock.setTimer(() => this.#tellSums(), SUMS_EVERY_MS);
  }

  #tellSums(): void {
    this.#sums = null;
    this.#tellSoon(this.#digest.sums(this.#clock.now()));
  }

  /** The first event after a pause goes out at once. */
  #tellSoon(events: readonly Event[]): void {
    if (events.length === 0) return;
    this.#heard.push(...events);
    this.#tick ??= this.#clock.setTimer(() => this.#tell(), this.#tickedAt + TICK_MS - this.#clock.monotonic());
  }

  #tell(): void {
    this.#tick = null;
    this.#tickedAt = this.#clock.monotonic();
    for (const event of this.#heard) this.#ring.append(event);
    this.#heard = [];
    for (const reader of this.#readers) reader.wake();
  }
}
