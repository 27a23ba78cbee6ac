import type { Event } from "../../core/event.ts";
import type { Hint } from "../store.ts";

type PlainTopic = Exclude<Hint["topic"], "work" | "due">;

/**
 * Hints and news within one process. A verb only notes what it changed; listeners are told when it is over, so that none looks at a store
 * that is halfway through a change. Equal hints of one turn become one.
 */
export class MemoryFeed {
  readonly #watchers = new Set<(hint: Hint) => void>();
  readonly #listeners = new Set<(events: readonly Event[]) => void>();
  readonly #queuesWithWork = new Set<string>();
  readonly #topics = new Set<PlainTopic>();
  #dueInMs = Infinity;
  #isTelling = false;
  #isClosed = false;

  watch(listener: (hint: Hint) => void): () => void {
    return this.#join(this.#watchers, listener);
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#join(this.#listeners, listener);
  }

  newsWanted(): boolean {
    return this.#listeners.size > 0;
  }

  publish(events: readonly Event[]): void {
    if (events.length === 0 || this.#listeners.size === 0) return;
    const batch = [...events];
    queueMicrotask(() => tell(this.#listeners, batch));
  }

  ringWork(queue: string): void {
    if (this.#watchers.size === 0) return;
    this.#queuesWithWork.add(queue);
    this.#tellSoon();
  }

  ringDue(inMs: number): void {
    if (this.#watchers.size === 0) return;
    this.#dueInMs = Math.min(this.#dueInMs, inMs);
    this.#tellSoon();
  }

  ring(topic: PlainTopic): void {
    if (this.#watchers.size === 0) return;
    this.#topics.add(topic);
    this.#tellSoon();
  }

  close(): void {
    this.#isClosed = true;
    this.#watchers.clear();
    this.#listeners.clear();
  }

  /** Each call joins anew: the same function may be given twice, and each goes by itself. */
  #join<Message>(hearers: Set<(message: Message) => void>, hearer: (message: Message) => void): () => void {
    if (this.#isClosed) return () => {};
    const own = (message: Message): void => hearer(message);
    hearers.add(own);
    return () => void hearers.delete(own);
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
    for (const hint of hints) tell(this.#watchers, hint);
  }
}

/** A hearer that throws breaks its promise; the others still hear, and the store goes on. */
function tell<Message>(hearers: ReadonlySet<(message: Message) => void>, message: Message): void {
  const present = [...hearers]; // who joins while it is told hears the next one
  for (const hearer of present) {
    if (!hearers.has(hearer)) continue; // another hearer sent it away
    try {
      hearer(message);
    } catch {
      // Nothing here could act on it.
    }
  }
}
