/**
 * PACKED HISTOGRAMS of an hour: `metric:amount metric:amount …`, the run and wait times of one type, or of its whole queue. A month of hours is
 * a few hundred of them, where it would be a million counts. The one of the queue is kept beside those of its types: to add these up would
 * read all of them.
 */

/** Stands where the number of a type stands: the whole queue. */
export const WHOLE_QUEUE = -1;

/** Amounts by metric. The metric is the queue's own: the number of the type is kept beside. */
export type Amounts = Map<number, number>;

export function packTimes(amounts: Amounts): string {
  return Array.from(amounts, ([metric, amount]) => `${metric}:${amount}`).join(" ");
}

const [ZERO, COLON] = [48, 58];

/** Reads digit by digit: a month has fifty thousand pairs, and to split them into texts takes several times as long. */
export function unpackTimes(packed: string): [metric: number, amount: number][] {
  const pairs: [number, number][] = [];
  let [metric, number] = [0, 0];
  for (let at = 0; at <= packed.length; at++) {
    // NaN at the end, where the last pair ends as if a space followed.
    const code = packed.charCodeAt(at);
    if (code === COLON) {
      metric = number;
      number = 0;
    } else if (code >= ZERO) {
      number = number * 10 + code - ZERO;
    } else {
      pairs.push([metric, number]);
      number = 0;
    }
  }
  return pairs;
}

/** Adds packed histograms to others. */
export function addPacked(amounts: Amounts, packed: string): void {
  for (const [metric, amount] of unpackTimes(packed)) amounts.set(metric, (amounts.get(metric) ?? 0) + amount);
}
