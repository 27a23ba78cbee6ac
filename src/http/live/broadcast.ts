import type { Client } from "../../client/client.ts";
import type { Event } from "../../core/event.ts";
import { EventDigest, SUMS_EVERY_MS } from "../../core/event-digest.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Reader } from "./reader.ts";
import { Ring } from "./ring.ts";

/** Readers are woken at most this often: events that come closer together go out in one write. */
const TICK_MS = 50;

export interface BroadcastOptions {
  readonly client: Pick<Client, "events">;
  readonly clock: Clock;
  /** Called when the broadcast has ended. */
  readonly onEnd: () => void;
}

/** ONE SUBSCRIPTION of the hub: listens to the store, numbers the events, and has any number of readers. */
export class Broadcast {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  readonly #listening = new AbortController();
  readonly #ring = new Ring();
  readonly #digest = new EventDigest();
  readonly #readers = new Set<Reader>();
  /** Not numbered yet; the digest limits how many there are in a tick. */
  #received: Event[] = [];
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

  /** A reader that starts now, or after the event with this id. */
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

  /** Stops listening and closes all readers. May be called twice. */
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
      for await (const event of events) this.#receive(event);
    } catch {
      // Treated like the end: readers open a new stream, and its answer says what is wrong.
    }
    this.end();
  }

  #receive(event: Event): void {
    this.#sendSoon(this.#digest.take([event], this.#clock.monotonic(), this.#clock.now()));
    if (this.#digest.hasSums) this.#sums ??= this.#clock.setTimer(() => this.#sendSums(), SUMS_EVERY_MS);
  }

  #sendSums(): void {
    this.#sums = null;
    this.#sendSoon(this.#digest.sums(this.#clock.now()));
  }

  /** The first event after a pause goes out at once. */
  #sendSoon(events: readonly Event[]): void {
    if (events.length === 0) return;
    this.#received.push(...events);
    this.#tick ??= this.#clock.setTimer(() => this.#send(), this.#tickedAt + TICK_MS - this.#clock.monotonic());
  }

  #send(): void {
    this.#tick = null;
    this.#tickedAt = this.#clock.monotonic();
    for (const event of this.#received) this.#ring.append(event);
    this.#received = [];
    for (const reader of this.#readers) reader.wake();
  }
}
