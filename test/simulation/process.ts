import type { Clock, Timer } from "../../src/lib/clock.ts";
import type { Happening, Timeline } from "./timeline.ts";

/** What clocks show when the world begins: shortly before midnight, so that days, hours and minutes change in it. */
export const WORLD_BEGINS: number = Date.UTC(2030, 0, 1, 23, 58);

/**
 * ONE PROCESS, from its start to its end. Everything that reaches it from outside (timers, answers, hints) comes through `deliver`:
 *
 *   up      it is handed over
 *   frozen  it waits, and all of it comes at once when the process goes on
 *   dead    it is dropped, and so is everything that would have followed
 */
export class SimProcess {
  /** One incarnation: a restarted process is another one. */
  readonly name: string;
  readonly #timeline: Timeline;
  #state: "up" | "frozen" | "dead" = "up";
  #backlog: (() => void)[] = [];
  readonly #onDeath: (() => void)[] = [];
  readonly clock: ProcessClock;

  constructor(name: string, timeline: Timeline, skewMs: number) {
    this.name = name;
    this.#timeline = timeline;
    this.clock = new ProcessClock(timeline, skewMs, (run) => this.deliver(run));
  }

  get state(): "up" | "frozen" | "dead" {
    return this.#state;
  }

  deliver(run: () => void): void {
    if (this.#state === "up") run();
    else if (this.#state === "frozen") this.#backlog.push(run);
  }

  freeze(): void {
    if (this.#state === "up") this.#state = "frozen";
  }

  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#state = "up";
    // One after the other, each to its rest, as the event loop of a process that was stopped would find them.
    for (const run of this.#backlog.splice(0)) this.#timeline.after(0, () => this.deliver(run));
  }

  kill(): void {
    if (this.#state === "dead") return;
    this.#state = "dead";
    this.#backlog = [];
    for (const tell of this.#onDeath) tell();
  }

  /** For what is kept outside on behalf of the process: sockets, subscriptions. */
  onDeath(tell: () => void): void {
    this.#onDeath.push(tell);
  }
}

/** The clock of one process: it may differ from that of others, and somebody may set it. */
export class ProcessClock implements Clock {
  readonly #timeline: Timeline;
  readonly #startedAt: number;
  readonly #deliver: (run: () => void) => void;
  #skewMs: number;

  constructor(timeline: Timeline, skewMs: number, deliver: (run: () => void) => void = (run) => run()) {
    this.#timeline = timeline;
    this.#startedAt = timeline.now;
    this.#skewMs = skewMs;
    this.#deliver = deliver;
  }

  now(): number {
    return Math.floor(WORLD_BEGINS + this.#timeline.now + this.#skewMs);
  }

  monotonic(): number {
    return this.#timeline.now - this.#startedAt;
  }

  setTimer(callback: () => void, ms: number): Timer {
    // As timers of Node do, however short.
    const happening: Happening = this.#timeline.after(Math.max(1, ms), () => {
      this.#deliver(() => {
        if (!happening.isCancelled) callback();
      });
    });
    return { cancel: () => void (happening.isCancelled = true) };
  }

  /** Somebody sets the clock; no time goes by. */
  step(ms: number): void {
    this.#skewMs += ms;
  }
}
