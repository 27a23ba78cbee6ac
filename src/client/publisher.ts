import { type Event, missedWith } from "../core/event.ts";
import { EventDigest, SUMS_EVERY_MS } from "../core/event-digest.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Store } from "../store/store.ts";

/**
 * Publishes events at little cost: events that happen during a publication go with the next one, and if there are too many, they are summed up
 * before they cost a write. Events may be lost, because the state in the store is what counts. So failures are ignored.
 */
export class Publisher {
  readonly #store: Pick<Store, "publish">;
  readonly #clock: Clock;
  readonly #digest = new EventDigest();
  /** Events that wait for the current publication. The store's deadline bounds how long, the digest how many. */
  #gathered: Event[] = [];
  /** How many events could not be published. */
  #lost = 0;
  #publishing: Promise<void> | null = null;
  #sumsTimer: Timer | null = null;

  constructor(store: Pick<Store, "publish">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  publish(events: readonly Event[]): void {
    if (events.length === 0) return;
    this.#gather(this.#digest.take(events, this.#clock.monotonic(), this.#clock.now()));
    if (this.#digest.hasSums) this.#sumsTimer ??= this.#clock.setTimer(() => this.#publishSums(), SUMS_EVERY_MS);
  }

  /** Publishes the remaining sums, and resolves when everything is published. For closing. */
  async flush(): Promise<void> {
    this.#sumsTimer?.cancel();
    this.#publishSums();
    await this.#publishing;
  }

  #publishSums(): void {
    this.#sumsTimer = null;
    this.#gather(this.#digest.sums(this.#clock.now()));
  }

  #gather(events: readonly Event[]): void {
    if (events.length === 0) return;
    this.#gathered.push(...events);
    this.#publishing ??= this.#publishGathered();
  }

  async #publishGathered(): Promise<void> {
    while (this.#gathered.length > 0) {
      const missed = this.#lost;
      const events: Event[] = missed === 0 ? this.#gathered : [{ event: "gap", at: this.#clock.now(), missed }, ...this.#gathered];
      this.#gathered = [];
      this.#lost = 0;
      try {
        await this.#store.publish(events);
      } catch {
        // Listeners learn of it with the next publication.
        this.#lost = events.reduce((sum, event) => sum + missedWith(event), 0);
      }
    }
    this.#publishing = null;
  }
}
