import { type Event, missedWith } from "../core/event.ts";
import { EventDigest, SUMS_EVERY_MS } from "../core/event-digest.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Store } from "../store/store.ts";

/**
 * Hands events to the store so that they never cost much of what they tell about: what happens while a publication is under way goes with the
 * next one, and what happens too often is summed up here, before it costs a write. News may be lost: the state is the truth, so no failure
 * here is anybody's.
 */
export class Publisher {
  readonly #store: Pick<Store, "publish">;
  readonly #clock: Clock;
  readonly #digest = new EventDigest();
  /** What waits for the publication under way; the store's deadline bounds how long, and the digest how much. */
  #gathered: Event[] = [];
  /** How many events nobody heard of, because they could not be published. */
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
    if (this.#digest.hasSums) this.#sumsTimer ??= this.#clock.setTimer(() => this.#tellSums(), SUMS_EVERY_MS);
  }

  /** Publishes the sums there are, and resolves when all is published: the client closes. */
  async flush(): Promise<void> {
    this.#sumsTimer?.cancel();
    this.#tellSums();
    await this.#publishing;
  }

  #tellSums(): void {
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
        // Whoever listens will hear of it with what follows.
        this.#lost = events.reduce((sum, event) => sum + missedWith(event), 0);
      }
    }
    this.#publishing = null;
  }
}
