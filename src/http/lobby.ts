/**
 * THE LOBBY, where long polls wait for work. They stand in lines: in each those that would take the same. A hint wakes the first of a line
 * only, and one who found all it could take wakes the next: so a job that comes in costs one claim a line, however many wait. Because hints
 * may be lost, each line is also woken once a second.
 */
import type { Client, LeasedJob } from "../client/client.ts";
import { kindOfQueue } from "../core/queue-kind.ts";
import type { Clock, Timer } from "../lib/clock.ts";

const LOOK_AGAIN_MS = 1000;

/** One who waits. */
export interface Visitor {
  readonly queues: readonly string[];
  readonly types: readonly string[] | "*";
  readonly limit: number;
  /** Tries to get jobs. */
  readonly claim: () => Promise<LeasedJob[]>;
}

interface Place {
  readonly visitor: Visitor;
  readonly resolve: (jobs: LeasedJob[]) => void;
  readonly reject: (error: unknown) => void;
  /** Its claim is under way: what it brings must reach somebody, so it cannot go before. */
  isAsking: boolean;
  isOver: boolean;
}

interface Line {
  readonly queues: ReadonlySet<string>;
  readonly places: Set<Place>;
  isAsking: boolean;
  /** A hint came while one was asking: that one may have looked before. */
  isRung: boolean;
}

export class Lobby {
  readonly #leases: Client["leases"];
  readonly #clock: Clock;
  readonly #lines = new Map<string, Line>();
  #unwatch: (() => void) | null = null;
  #timer: Timer | null = null;

  constructor({ leases }: Pick<Client, "leases">, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  /** Waits until the visitor got jobs, or for so long, or until `ending` aborts: then with none. */
  async wait(visitor: Visitor, waitMs: number, ending: AbortSignal): Promise<LeasedJob[]> {
    if (ending.aborted) return [];
    const { promise, resolve, reject } = Promise.withResolvers<LeasedJob[]>();
    const place: Place = { visitor, resolve, reject, isAsking: false, isOver: false };
    const line = this.#enter(place);
    const giveUp = (): void => {
      place.isOver = true;
      if (!place.isAsking) resolve([]);
    };
    const timer = this.#clock.setTimer(giveUp, waitMs);
    ending.addEventListener("abort", giveUp);
    try {
      return await promise;
    } finally {
      timer.cancel();
      ending.removeEventListener("abort", giveUp);
      this.#leave(line, place);
    }
  }

  #enter(place: Place): Line {
    const { queues, types } = place.visitor;
    const name = JSON.stringify([queues, types]);
    let line = this.#lines.get(name);
    if (line === undefined) this.#lines.set(name, (line = { queues: new Set(queues), places: new Set(), isAsking: false, isRung: false }));
    line.places.add(place);
    this.#unwatch ??= this.#leases.watch((hint) => {
      if (hint.topic === "work") for (const each of this.#lines.values()) if (serves(each, hint.queue)) void this.#ring(each);
    });
    if (this.#timer === null) this.#lookLater();
    return line;
  }

  #leave(line: Line, place: Place): void {
    line.places.delete(place);
    if (line.places.size > 0) return;
    for (const [name, each] of this.#lines) if (each === line) this.#lines.delete(name);
    if (this.#lines.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = null;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #lookLater(): void {
    this.#timer = this.#clock.setTimer(() => {
      this.#lookLater();
      for (const line of this.#lines.values()) void this.#ring(line);
    }, LOOK_AGAIN_MS);
  }

  /** Asks for the first, and for the next as long as each gets all that it could take. */
  async #ring(line: Line): Promise<void> {
    line.isRung = true;
    if (line.isAsking) return;
    line.isAsking = true;
    while (line.isRung) {
      line.isRung = false;
      const [first] = line.places;
      if (first !== undefined && (await ask(line, first))) line.isRung = true;
    }
    line.isAsking = false;
  }
}

/** Whether there may be more for the next. */
async function ask(line: Line, place: Place): Promise<boolean> {
  place.isAsking = true;
  try {
    const jobs = await place.visitor.claim();
    if (jobs.length > 0 || place.isOver) {
      line.places.delete(place);
      place.resolve(jobs);
    }
    return jobs.length >= place.visitor.limit;
  } catch (error) {
    line.places.delete(place);
    place.reject(error);
    return false;
  } finally {
    place.isAsking = false;
  }
}

/** By its name, or as one of all. */
function serves({ queues }: Pick<Line, "queues">, queue: string): boolean {
  return queues.has(queue) || queues.has(kindOfQueue(queue));
}
