/** A listening process says so this often, and counts as listening for BELIEVED_MS. Publishers ask at most every ASKED_EVERY_MS. */
const SAID_EVERY_MS = 5_000;
const BELIEVED_MS = 15_000;
const ASKED_EVERY_MS = 500;
/** An older answer is worth nothing: the event of a process that was idle waits for a new one, so that it is not missed. */
const KNOWN_MS = 2_000;

/** How processes on one store tell each other that somebody listens. */
interface Listening {
  /** Says that somebody listens; it counts for `believedMs`. */
  readonly say: (believedMs: number) => Promise<unknown>;
  readonly ask: () => Promise<boolean>;
}

/** Knows whether any process listens to news. While none does, publishing costs next to nothing. */
export class NewsWanted {
  readonly #listening: Listening;
  #renewal: NodeJS.Timeout | null = null;
  #isSaying = false;
  #wanted = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;
  /** The question under way, if the answer before it is too old. */
  #unsure: Promise<void> | null = null;
  #isClosed = false;

  constructor(listening: Listening) {
    this.#listening = listening;
  }

  /** This process listens from now on. */
  start(): void {
    void this.#say();
    this.#renewal = setInterval(() => void this.#say(), SAID_EVERY_MS).unref();
  }

  stop(): void {
    if (this.#renewal !== null) clearInterval(this.#renewal);
    this.#renewal = null;
  }

  close(): void {
    this.#isClosed = true;
    this.stop();
  }

  /** Answers at once: true if it is not known. */
  now(): boolean {
    if (this.#renewal !== null) return true;
    const age = performance.now() - this.#askedAt;
    if (age >= ASKED_EVERY_MS && this.#asking === null && !this.#isClosed) {
      this.#askedAt = performance.now();
      this.#asking = this.#ask();
      if (age >= KNOWN_MS) this.#unsure = this.#asking;
    }
    return this.#wanted || this.#unsure !== null;
  }

  /** Waits until it is known. */
  async known(): Promise<boolean> {
    if (!this.now()) return false;
    await this.#unsure;
    return this.now();
  }

  async #ask(): Promise<void> {
    try {
      this.#wanted = await this.#listening.ask();
    } catch {
      // The last answer stays valid.
    } finally {
      this.#asking = null;
      this.#unsure = null;
    }
  }

  async #say(): Promise<void> {
    // While the store is away, one waiting call is enough.
    if (this.#isSaying) return;
    this.#isSaying = true;
    try {
      await this.#listening.say(BELIEVED_MS);
    } catch {
      // The next one follows in SAID_EVERY_MS.
    } finally {
      this.#isSaying = false;
    }
  }
}
