/** The known text that a mistyped one most likely means; null if none is near: more than `mostEdits`, a third of it, would have to change. */
export function closestText(given: string, known: Iterable<string>, mostEdits = Math.floor(given.length / 3)): string | null {
  let closest: string | null = null;
  let fewest = mostEdits + 1;
  for (const text of known) {
    if (Math.abs(text.length - given.length) >= fewest) continue;
    const edits = editsBetween(given.toLowerCase(), text.toLowerCase());
    if (edits < fewest) [closest, fewest] = [text, edits];
  }
  return closest;
}

/** How many characters to insert, delete or replace, or neighbours to swap, to make one text the other. */
function editsBetween(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const next = [row];
    for (let at = 1; at <= to.length; at++) {
      const isSame = from[row - 1] === to[at - 1];
      next[at] = Math.min(last[at - 1]! + (isSame ? 0 : 1), last[at]! + 1, next[at - 1]! + 1);
      const isSwapped = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      if (isSwapped) next[at] = Math.min(next[at]!, before[at - 2]! + 1);
    }
    [before, last] = [last, next];
  }
  return last[to.length]!;
}
