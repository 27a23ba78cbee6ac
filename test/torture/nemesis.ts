import { setTimeout as sleep } from "node:timers/promises";
import { machineNow } from "../history/recorder.ts";
import type { Random } from "../simulation/random.ts";
import type { Deed, Stage } from "./deed.ts";

/** At first one follows the other; later there is time to recover in between, or not. */
const FIRST_PAUSE_MS = 400;
const MOST_PAUSE_MS = 3_000;
/** So long is a deed tried that has not yet taken effect. */
const TRIED_FOR_MS = 60_000;

/** A deed that took effect. */
export interface Effect {
  readonly what: string;
  /** When it was over, by the clock of the history. */
  readonly endedAt: number;
}

/**
 * WHO TRIES TO BREAK IT. Several lanes of deeds go on side by side, so that a process dies while the store is away; in one lane they follow
 * each other. Every deed is tried until it has taken effect once, then they come by chance until time is up.
 */
export class Nemesis {
  readonly effects: Effect[] = [];
  readonly #stage: Stage;
  readonly #lanes: readonly (readonly Deed[])[];

  constructor(stage: Stage, lanes: readonly (readonly Deed[])[]) {
    this.#stage = stage;
    this.#lanes = lanes;
  }

  /** Those that never took effect, in spite of all tries. */
  get withoutEffect(): string[] {
    const seen = new Set(this.effects.map(({ what }) => what));
    return this.#lanes.flat().flatMap(({ what }) => (seen.has(what) ? [] : [what]));
  }

  /** Until time is up and everything took effect once; at once when there is something broken already. */
  async harm(forMs: number, isBroken: () => boolean): Promise<void> {
    const until = machineNow() + forMs;
    const failures: unknown[] = [];
    const isOver = (): boolean => failures.length > 0 || isBroken();
    const going = this.#lanes.map((deeds, lane) => {
      return this.#go(deeds, until, isOver, this.#stage.random.fork(`lane ${lane}`)).catch((error: unknown) => failures.push(error));
    });
    // All of them, also when one has failed: none may go on when the run is over.
    await Promise.all(going);
    if (failures.length > 0) throw failures[0];
  }

  async #go(deeds: readonly Deed[], until: number, isOver: () => boolean, random: Random): Promise<void> {
    for (const deed of shuffled(deeds, random)) {
      const giveUpAt = machineNow() + TRIED_FOR_MS;
      while (!isOver() && !(await this.#attempt(deed)) && machineNow() < giveUpAt) await sleep(random.next() * FIRST_PAUSE_MS);
      await sleep(random.next() * FIRST_PAUSE_MS);
    }
    while (!isOver() && machineNow() < until) {
      await sleep(random.next() * MOST_PAUSE_MS);
      await this.#attempt(random.pick(deeds));
    }
  }

  async #attempt({ what, attempt }: Deed): Promise<boolean> {
    if (!(await attempt(this.#stage))) return false;
    this.effects.push({ what, endedAt: machineNow() });
    return true;
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const left = [...items];
  return items.map(() => left.splice(random.int(0, left.length - 1), 1)[0]!);
}
