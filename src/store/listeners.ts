/** Opens and closes what listeners need, such as a connection, with the first and the last of them. */
interface Use {
  readonly onFirst?: () => void;
  readonly onLast?: () => void;
}

/**
 * Listeners to hints or to news, with the same rules on every engine. Each call joins anew: the same function may be given twice, and each
 * call returns its own way to leave. If a listener throws, the others still get the message. After close nobody can join.
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

  /** Returns a function to leave, which may be called twice. */
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
    const present = [...this.#joined]; // a listener that joins during this call gets the next message
    for (const listener of present) {
      if (!this.#joined.has(listener)) continue; // another listener made it leave
      try {
        listener(message);
      } catch {
        // Nothing here could act on it.
      }
    }
  }

  /** Removes all listeners for good. The caller closes what `onFirst` opened. */
  close(): void {
    this.#isClosed = true;
    this.#joined.clear();
  }
}
