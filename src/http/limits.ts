/** HOW OFTEN AND HOW MUCH. Every caller has a rate, and the server as a whole has bounds beyond which it says so instead of growing. */
import { WireError } from "./problem.ts";

/** So many requests in so long a time. All of them may come at once; then one follows the other at the rate. */
export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
}

/** Counts requests. One that is shared by several processes answers later, hence the promise. */
export interface Limiter {
  /** Asks for one request of `who` at `now`: 0 when it may be, else after how many milliseconds it may. A refused request is not counted. */
  take(who: string, now: number): number | Promise<number>;
}

/** How many callers are remembered; the one that was quiet for longest is forgotten first. */
export const MAX_CALLERS = 50_000;

/**
 * The generic cell rate algorithm, in the memory of this process: for each caller one number, the time at which it will have used nothing.
 */
export class MemoryLimiter implements Limiter {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #maxCallers: number;
  /** In the order of their latest request, so that the first are those that were quiet for longest. */
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

  /** After how many milliseconds `who` may, without asking for a request. */
  waitOf(who: string, now: number): number {
    return Math.max(0, (this.#freeAt.get(who) ?? now) - this.#burstMs - now);
  }

  #forgetFirst(): void {
    const first = this.#freeAt.keys().next();
    if (!first.done) this.#freeAt.delete(first.value);
  }
}

/** How many may read events at once, as a stream or over a WebSocket. */
export interface StreamLimits {
  readonly streams: number;
  /** With one key, or as one user. */
  readonly streamsPerCaller: number;
}

/** What a server takes on at once. */
export interface ServerLimits extends StreamLimits {
  /** Requests that are being answered. */
  readonly requests: number;
  /** Long polls and streams, which wait most of their time. */
  readonly waiting: number;
  /** Bytes of bodies that are being read or worked on. */
  readonly bytes: number;
}

/** How much of its limits a server uses. A request beyond them is refused at once, and is told when to come again. */
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

  /** Begins a request: its place must be left again. */
  enter(): void {
    if (this.#requests >= this.#limits.requests) throw overloaded("too many requests are being answered");
    this.#requests++;
  }

  leave(): void {
    this.#requests--;
  }

  /** A request begins to wait for long: it leaves its place among the others. Must be ended by `stopWaiting` instead of `leave`. */
  startWaiting(): void {
    if (this.#waiting >= this.#limits.waiting) throw overloaded("too many requests wait already");
    this.#waiting++;
    this.#requests--;
  }

  stopWaiting(): void {
    this.#waiting--;
  }

  /** Room for so many bytes of a body, until they are given back. */
  hold(bytes: number): void {
    if (this.#bytes + bytes > this.#limits.bytes) throw overloaded("too many bytes of other requests are being read");
    this.#bytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

function overloaded(why: string): WireError {
  return new WireError("overloaded", `${why}; try again later`, { retryAfterMs: 1000 });
}
