/**
 * PARTITIONS THAT CANNOT BE REACHED. On a Cluster a node may be away while the others work. What upkeep and workers ask of many partitions at
 * once is asked of each, and the answers of the others count:
 *
 *   asked ─→ answered
 *     ├────→ failed
 *     └────→ late         others have answered, and this one has not for a while: its call goes on, nobody waits for it, and until it ends the
 *                         partition is left out
 */
import { systemClock } from "../../lib/clock.ts";

/** How long a partition may keep those waiting that have answers of others. */
const PATIENCE_MS = 500;

export interface Reached<Answer> {
  /** In the order of the partitions; undefined of one that was not reached. */
  readonly answers: readonly (Answer | undefined)[];
  /** Why a partition was not reached, if one was not, and if that is known. */
  readonly trouble: Error | undefined;
}

export class Reach {
  /** Verbs and partitions whose calls are late. */
  readonly #late = new Set<string>();
  /** Verb → how a late call of it has failed, until somebody is told. */
  readonly #failures = new Map<string, Error>();

  /** Rejects if no partition was reached and one has failed. `verb` names what is asked. */
  async ask<Answer>(verb: string, partitions: readonly number[], ask: (partition: number) => Promise<Answer>): Promise<Reached<Answer>> {
    const answers: (Answer | undefined)[] = partitions.map(() => undefined);
    const asked = new Set<string>();
    const first = Promise.withResolvers<void>();
    let isReached = false;
    let trouble = this.#failures.get(verb);
    this.#failures.delete(verb);
    const calls = partitions.map(async (partition, index) => {
      const name = `${verb} ${partition}`;
      if (this.#late.has(name)) return;
      asked.add(name);
      try {
        answers[index] = await ask(partition);
        isReached = true;
        first.resolve();
      } catch (error) {
        const failure = error instanceof Error ? error : new Error(String(error));
        if (this.#late.has(name)) this.#failures.set(verb, failure);
        else trouble ??= failure;
      } finally {
        asked.delete(name);
        this.#late.delete(name);
      }
    });
    await unlessLate(Promise.all(calls), first.promise);
    for (const name of asked) this.#late.add(name);
    if (!isReached && trouble !== undefined) throw trouble;
    return { answers: [...answers], trouble };
  }
}

/** Waits for all, or for the first and the time that the others have. */
async function unlessLate(all: Promise<unknown>, first: Promise<void>): Promise<void> {
  const patience = Promise.withResolvers<void>();
  const timer = systemClock.setTimer(patience.resolve, PATIENCE_MS);
  await Promise.race([all, Promise.all([first, patience.promise])]);
  timer.cancel();
}
