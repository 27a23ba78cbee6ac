type Listener<Args extends readonly unknown[]> = (...args: Args) => unknown;

interface Joined {
  readonly call: Listener<never>;
  /** Its last failure. The same one is told once: a listener may fail a thousand times a second. */
  failure: string | null;
}

/**
 * Listeners by the name of their event. A listener that throws or rejects harms nobody: `onError` is told, the others are still called, and
 * nobody waits for a listener that is async.
 */
export class Emitter<Events extends { readonly [Name in keyof Events]: readonly unknown[] }> {
  readonly #listeners = new Map<keyof Events, Set<Joined>>();
  readonly #messageOf: (error: unknown) => string;
  readonly #onError: (name: keyof Events, error: unknown) => void;

  /** Neither function may throw, whatever a listener has thrown. */
  constructor(messageOf: (error: unknown) => string, onError: (name: keyof Events, error: unknown) => void) {
    this.#messageOf = messageOf;
    this.#onError = onError;
  }

  /** Returns a function that ends the listening. The same listener may be given twice; each call has its own end. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const own: Joined = { call: listener, failure: null };
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(own));
    return () => {
      // Nothing is left of an event without listeners, so that `hears` stays cheap.
      if (listeners.delete(own) && listeners.size === 0 && this.#listeners.get(name) === listeners) this.#listeners.delete(name);
    };
  }

  hears(name: keyof Events): boolean {
    return this.#listeners.has(name);
  }

  emit<Name extends keyof Events>(name: Name, ...args: Events[Name]): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return;
    // A copy: a listener that joins now gets the next event.
    for (const joined of Array.from(listeners)) void this.#call(name, joined, args);
  }

  /** Never rejects. */
  async #call<Name extends keyof Events>(name: Name, joined: Joined, args: Events[Name]): Promise<void> {
    try {
      await (joined.call as unknown as Listener<Events[Name]>)(...args);
    } catch (error) {
      const failure = this.#messageOf(error);
      if (failure !== joined.failure) this.#onError(name, error);
      joined.failure = failure;
    }
  }
}
