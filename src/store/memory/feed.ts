import type { Event } from "../../core/event.ts";
import { Listeners } from "../listeners.ts";
import type { Feed, Hint } from "../store.ts";

type PlainTopic = Exclude<Hint["topic"], "work" | "due">;

/**
 * Hints and news within one process. A verb only notes what it changed; listeners are called when it is over, so that none sees a half-done
 * change. Equal hints of one turn become one.
 */
export class MemoryFeed implements Feed {
  readonly #watchers = new Listeners<Hint>();
  readonly #listeners = new Listeners<readonly Event[]>();
  readonly #queuesWithWork = new Set<string>();
  readonly #topics = new Set<PlainTopic>();
  #dueInMs = Infinity;
  #isTelling = false;

  watch(listener: (hint: Hint) => void): () => void {
    return this.#watchers.join(listener);
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#listeners.join(listener);
  }

  newsWanted(): boolean {
    return this.#listeners.size > 0;
  }

  async publish(events: readonly Event[]): Promise<void> {
    if (events.length === 0 || this.#listeners.size === 0) return;
    const batch = [...events];
    queueMicrotask(() => this.#listeners.tell(batch));
  }

  sendWorkHint(queue: string): void {
    if (this.#watchers.size === 0) return;
    this.#queuesWithWork.add(queue);
    this.#tellSoon();
  }

  sendDueHint(inMs: number): void {
    if (this.#watchers.size === 0) return;
    this.#dueInMs = Math.min(this.#dueInMs, inMs);
    this.#tellSoon();
  }

  sendHint(topic: PlainTopic): void {
    if (this.#watchers.size === 0) return;
    this.#topics.add(topic);
    this.#tellSoon();
  }

  close(): void {
    this.#watchers.close();
    this.#listeners.close();
  }

  #tellSoon(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    queueMicrotask(() => this.#tellHints());
  }

  #tellHints(): void {
    this.#isTelling = false;
    const hints: Hint[] = [...this.#queuesWithWork].map((queue) => ({ topic: "work", queue }));
    if (this.#dueInMs < Infinity) hints.push({ topic: "due", inMs: this.#dueInMs });
    for (const topic of this.#topics) hints.push({ topic });
    this.#dueInMs = Infinity;
    this.#queuesWithWork.clear();
    this.#topics.clear();
    for (const hint of hints) this.#watchers.tell(hint);
  }
}
