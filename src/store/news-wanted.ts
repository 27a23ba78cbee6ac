/** Who listens says so every so often, and is believed for a while. Publishers ask at most so often. */
const SAID_EVERY_MS = 5_000;
const BELIEVED_MS = 15_000;
const ASKED_EVERY_MS = 500;
/** After so long without a look nobody knows: what is published then waits for the answer, so that the first word of an idle process is heard. */
const KNOWN_MS = 2_000;

/** How processes on one store tell each other that somebody listens. */
interface Listening {
  /** Says that somebody listens, to be believed for so long. */
  readonly say: (believedMs: number) => Promise<unknown>;
  /** Whether somebody said so. */
  readonly ask: () => Promise<boolean>;
}

/** Whether anybody, in any process, listens to news: while nobody does, publishing costs nothing worth measuring. */
export class NewsWanted {
  readonly #listening: Listening;
  #renewal: NodeJS.Timeout | null = null;
  #isSaying = false;
  #wanted = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;
  /** A look whose answer is not here yet, while what was known before is too old. */
  #unsure: Promise<void> | null = null;
  #isClosed = false;

  constructor(listening: Listening) {
    this.#listening = listening;
  }

  /** Somebody listens here. */
  start(): void {
    void this.#say();
    this.#renewal = setInterval(() => void this.#say(), SAID_EVERY_MS).unref();
  }

  /** Nobody listens here any more. */
  stop(): void {
    if (this.#renewal !== null) clearInterval(this.#renewal);
    this.#renewal = null;
  }

  close(): void {
    this.#isClosed = true;
    this.stop();
  }

  /** At once: also true as long as nobody knows. */
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

  /** The same when it is known. */
  async known(): Promise<boolean> {
    if (!this.now()) return false;
    await this.#unsure;
    return this.now();
  }

  async #ask(): Promise<void> {
    try {
      this.#wanted = await this.#listening.ask();
    } catch {
      // What was known is believed on.
    } finally {
      this.#asking = null;
      this.#unsure = null;
    }
  }

  async #say(): Promise<void> {
    // While the store is away one word that waits is enough.
    if (this.#isSaying) return;
    this.#isSaying = true;
    try {
      await this.#listening.say(BELIEVED_MS);
    } catch {
      // Said again before long.
    } finally {
      this.#isSaying = false;
    }
  }
}
