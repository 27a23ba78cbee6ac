/** HOW OFTEN AND HOW MUCH: a rate for each caller, and limits for the whole server. Requests beyond them are refused. */
import { WireError } from "./problem.ts";

/** How many requests are allowed in which time. All of them may come at once; after that, they are allowed one by one at this rate. */
export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
}

/** Counts requests. A limiter that several processes share returns a promise. */
export interface Limiter {
  /** Asks for one request of `who` at `now`: 0 if it is allowed, else how many milliseconds to wait. A refused request is not counted. */
  take(who: string, now: number): number | Promise<number>;
}

/** How many callers are remembered; the one that was idle longest is forgotten first. */
export const MAX_CALLERS = 50_000;

/** The generic cell rate algorithm, in memory: one number per caller, the time at which it may use its full rate again. */
export class MemoryLimiter implements Limiter {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #maxCallers: number;
  /** In the order of the latest requests: the first caller was idle longest. */
  readonly #freeAt = new Map<string, number>();

  constructor({ requests, perMs }: RateLimit, maxCallers: number = MAX_CALLERS) {
    this.#intervalMs = perMs / requests;
    this.#burstMs = perMs - this.#intervalMs;
    this.#maxCallers = maxCallers;
  }

  get size(): number {
    return this.#freeAt.size;
  }

  take(who: string, now: number): number {
    const freeAt = Math.max(this.#freeAt.get(who) ?? now, now);
    const waitMs = freeAt - this.#burstMs - now;
    if (waitMs > 0) return waitMs;
    this.#freeAt.delete(who);
    this.#freeAt.set(who, freeAt + this.#intervalMs);
    if (this.#freeAt.size > this.#maxCallers) this.#forgetFirst();
    return 0;
  }

  /** How many milliseconds `who` would have to wait. Counts no request. */
  waitOf(who: string, now: number): number {
    return Math.max(0, (this.#freeAt.get(who) ?? now) - this.#burstMs - now);
  }

  #forgetFirst(): void {
    const first = this.#freeAt.keys().next();
    if (!first.done) this.#freeAt.delete(first.value);
  }
}

/** How many streams of events may be open at once, WebSockets included. */
export interface StreamLimits {
  readonly streams: number;
  /** With one key, or as one user. */
  readonly streamsPerCaller: number;
}

/** What a server handles at once. */
export interface ServerLimits extends StreamLimits {
  /** Requests that are being answered. */
  readonly requests: number;
  /** Long polls and streams, which wait most of their time. */
  readonly waiting: number;
  /** Bytes of bodies that are being read or worked on. */
  readonly bytes: number;
}

/** How much of its limits a server uses. A request beyond them is refused at once, with a Retry-After. */
export class Occupancy {
  readonly #limits: Omit<ServerLimits, keyof StreamLimits>;
  #requests = 0;
  #waiting = 0;
  #bytes = 0;

  constructor(limits: Omit<ServerLimits, keyof StreamLimits>) {
    this.#limits = limits;
  }

  get requests(): number {
    return this.#requests;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Counts a request until `leave`. */
  enter(): void {
    if (this.#requests >= this.#limits.requests) throw overloaded("too many requests are being answered");
    this.#requests++;
  }

  leave(): void {
    this.#requests--;
  }

  /** Counts the request as waiting from now on, until `stopWaiting` instead of `leave`. */
  startWaiting(): void {
    if (this.#waiting >= this.#limits.waiting) throw overloaded("too many requests are already waiting");
    this.#waiting++;
    this.#requests--;
  }

  stopWaiting(): void {
    this.#waiting--;
  }

  /** Reserves bytes for a body until `giveBack`. */
  hold(bytes: number): void {
    if (this.#bytes + bytes > this.#limits.bytes) throw overloaded("other requests are sending too many bytes");
    this.#bytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

function overloaded(why: string): WireError {
  return new WireError("overloaded", `${why}; try again later`, { retryAfterMs: 1000 });
}
