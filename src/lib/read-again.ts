import type { Clock } from "./clock.ts";

/**
 * A VALUE THAT IS READ AGAIN when its user finds it too old. Concurrent callers share a read. A read that fails leaves the value as it is, and the
 * next call tries again.
 */
export class ReadAgain<Value> {
  readonly #clock: Clock;
  readonly #read: () => Promise<Value>;
  #value: Value;
  /** When the read of the value began. */
  #askedAt = -Infinity;
  #reading: Promise<Value> | null = null;
  /** How many reads began, and which of them the value is from: one that was forgotten may end after a later one. */
  #began = 0;
  #valueOf = 0;

  /** `initial` is the value before the first read. */
  constructor(clock: Clock, initial: Value, read: () => Promise<Value>) {
    this.#clock = clock;
    this.#value = initial;
    this.#read = read;
  }

  /** What was read last, however old it is. */
  get value(): Value {
    return this.#value;
  }

  /** How old the value is at most, in milliseconds. Infinity before the first read, and after `forget`. */
  get ageMs(): number {
    return this.#clock.monotonic() - this.#askedAt;
  }

  read(): Promise<Value> {
    return (this.#reading ??= this.#start());
  }

  /** What was read is too old, and so is what is being read now: the next call starts another read. */
  forget(): void {
    this.#askedAt = -Infinity;
    this.#reading = null;
  }

  #start(): Promise<Value> {
    const askedAt = this.#clock.monotonic();
    const number = ++this.#began;
    const isForgotten = (): boolean => this.#reading !== reading;
    const reading = this.#read()
      .then((value) => {
        if (number > this.#valueOf) [this.#value, this.#valueOf] = [value, number];
        if (!isForgotten()) this.#askedAt = askedAt;
        return value;
      })
      .finally(() => {
        if (!isForgotten()) this.#reading = null;
      });
    return reading;
  }
}
