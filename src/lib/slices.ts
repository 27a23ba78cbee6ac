/** Splits a list into batches of at most `maxItems` items and `maxWeight`; a heavier item goes alone. */
export function* slices<Item>(
  items: readonly Item[],
  maxItems: number,
  maxWeight: number,
  weigh: (item: Item) => number,
): Generator<Item[]> {
  let slice: Item[] = [];
  let weight = 0;
  for (const item of items) {
    const next = weigh(item);
    if (slice.length > 0 && (slice.length === maxItems || weight + next > maxWeight)) {
      yield slice;
      slice = [];
      weight = 0;
    }
    slice.push(item);
    weight += next;
  }
  if (slice.length > 0) yield slice;
}

/** Runs a list in batches of at most `maxItems`, one after the other. Answers are in the order of the items. */
export async function inBatches<Item, Answer>(
  items: readonly Item[],
  maxItems: number,
  run: (batch: readonly Item[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  if (items.length > 0 && items.length <= maxItems) return run(items);
  const answers: Answer[] = [];
  for (let from = 0; from < items.length; from += maxItems) answers.push(...(await run(items.slice(from, from + maxItems))));
  return answers;
}
