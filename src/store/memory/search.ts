/** The index of the first item that passes a test which, once passed, all later items pass too; the length when none does. */
export function firstIndex<Item>(items: readonly Item[], passes: (item: Item) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(items[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
