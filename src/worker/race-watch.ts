/**
 * MAY THE HANDLER GO ON, although it waits? Behind a Promise.race it goes on when the first wait has ended, and those that lost stay open. If
 * it then does work that is no step, it looks as if it did nothing but wait. Suspended, it would go on when a wait ends that it does not
 * need, perhaps never. A Promise.all of which a part has ended looks the same, and there nothing goes on.
 *
 * So this only tells when it cannot be a race: then the attempt is suspended at once. Otherwise it gets a grace, and a slot is held for
 * nothing if it was a Promise.all. Not between the ends of several calls: each would hold a slot, perhaps the one that the next called job
 * needs, and called jobs end by themselves.
 */
import type { StepKind } from "../core/steps.ts";
import { type Clock, sleep } from "../lib/clock.ts";

/** How long a handler that may have won a race may be quiet before its attempt is suspended. */
export const RACE_GRACE_MS = 5000;

/** When the steps are read during the grace, as shares of it: a wait that has ended meanwhile ends the grace. */
const LOOKS = [0.01, 0.03, 0.08, 0.2, 0.4, 0.7, 1] as const;

/** Resolves after the grace, or `mostMs`, or when a look says that it is over. */
export async function raceGrace(clock: Clock, mostMs: number, isOver: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  const graceMs = Math.max(0, Math.min(RACE_GRACE_MS, mostMs));
  let before = 0;
  for (const share of LOOKS) {
    await sleep(clock.forIo ?? clock, (share - before) * graceMs, signal);
    if (await isOver()) return;
    before = share;
  }
}

export class RaceWatch {
  /** What the handler begins without waiting in between is of one run. */
  #run = 0;
  #isRunOpen = false;
  readonly #runOf = new Map<string, number>();
  readonly #open: { readonly isCall: boolean; readonly isStored: boolean; readonly run: number }[] = [];
  /** The last run in which a wait was begun that has ended. */
  #endedRun = 0;
  #latest: { readonly isCall: boolean; readonly endedAt: number } | null = null;

  /** The handler has begun something. To be called before it can go on: with the end of a wait, it does so in a later microtask. */
  begun(name: string): void {
    if (!this.#isRunOpen) {
      this.#isRunOpen = true;
      this.#run++;
      queueMicrotask(() => (this.#isRunOpen = false));
    }
    this.#runOf.set(name, this.#run);
  }

  /** A wait that has ended: the handler goes on, unless it waits for others too. A sleep that takes no time has no `endedAt`. */
  ended(name: string, kind: StepKind, endedAt: number | null): void {
    this.#endedRun = Math.max(this.#endedRun, this.#runOf.get(name)!);
    const latest = { isCall: kind === "call", endedAt: endedAt ?? 0 };
    const { endedAt: before = -1 } = this.#latest ?? {};
    if (latest.endedAt > before || (latest.endedAt === before && !latest.isCall)) this.#latest = latest;
  }

  /** A wait that is open; `isStored` if an earlier attempt reached it. */
  waits(name: string, kind: StepKind, isStored: boolean): void {
    this.#open.push({ isCall: kind === "call", isStored, run: this.#runOf.get(name)! });
  }

  /**
   * Whether all open waits may have lost. Not one that the handler has reached now, behind waits that have ended: it waits for it. And not
   * while calls are open, if a call was the latest to end: that is what a Promise.all of calls looks like.
   */
  get mayBeLost(): boolean {
    if (this.#latest === null) return false;
    if (this.#open.some(({ isStored, run }) => !isStored && run > this.#endedRun)) return false;
    return !(this.#latest.isCall && this.#open.some(({ isCall }) => isCall));
  }
}
