/** What a set of listeners may need: a connection that is open only while somebody listens. */
interface Use {
  /** The first one joins. */
  readonly onFirst?: () => void;
  /** The last one has left. */
  readonly onLast?: () => void;
}

/**
 * Those who listen to hints or to news, by one rule on every engine. Each call joins anew: the same function may be given twice, and each
 * leaves by itself. One that throws breaks its promise; the others are told all the same, and the store goes on. After close nobody joins.
 */
export class Listeners<Message> {
  readonly #joined = new Set<(message: Message) => void>();
  readonly #use: Use;
  #isClosed = false;

  constructor(use: Use = {}) {
    this.#use = use;
  }

  get size(): number {
    return this.#joined.size;
  }

  /** Returns how to leave, which may be called twice. */
  join(listener: (message: Message) => void): () => void {
    if (this.#isClosed) return () => {};
    const own = (message: Message): void => listener(message);
    if (this.#joined.size === 0) this.#use.onFirst?.();
    this.#joined.add(own);
    return () => {
      if (this.#joined.delete(own) && this.#joined.size === 0) this.#use.onLast?.();
    };
  }

  tell(message: Message): void {
    if (this.#joined.size === 0) return;
    const present = [...this.#joined]; // who joins while it is told hears the next one
    for (const listener of present) {
      if (!this.#joined.has(listener)) continue; // another listener sent it away
      try {
        listener(message);
      } catch {
        // Nothing here could act on it.
      }
    }
  }

  /** Everybody leaves for good. What was opened for them is closed by who closes this. */
  close(): void {
    this.#isClosed = true;
    this.#joined.clear();
  }
}
