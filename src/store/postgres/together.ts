import { fateOf } from "./failures.ts";

/**
 * Runs items as one batch. If that would have to wait for a row that somebody else holds, it leaves nothing behind and is halved, again and
 * again, until those are alone whose row it is; they wait at the end, and none of the others with them. The order of the rest is kept.
 */
export async function togetherOrAlone<Item, Answer>(
  items: readonly Item[],
  run: (items: readonly Item[], failLocked: boolean) => Promise<Answer[]>,
): Promise<Answer[]> {
  if (items.length === 1) return run(items, false);
  const answers: Answer[] = [];
  const held: number[] = [];
  const attempt = async (from: number, to: number): Promise<void> => {
    try {
      const found = await run(items.slice(from, to), true);
      found.forEach((answer, at) => (answers[from + at] = answer));
    } catch (error) {
      if (fateOf(error) !== "locked") throw error;
      if (to - from === 1) return void held.push(from);
      const middle = (from + to) >> 1;
      await attempt(from, middle);
      await attempt(middle, to);
    }
  };
  await attempt(0, items.length);
  await Promise.all(
    held.map(async (index) => {
      const [answer] = await run([items[index]!], false);
      answers[index] = answer!;
    }),
  );
  return answers;
}
