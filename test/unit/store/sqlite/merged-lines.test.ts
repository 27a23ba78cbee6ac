import { expect, test } from "vitest";
import { type Line, mergedLines } from "../../../../src/store/sqlite/merged-lines.ts";
import type { Place } from "../../../../src/store/state-order.ts";

const START: Place = { at: 0, seq: 1_000_000 };
const placeOf = (seq: number): Place => ({ at: 0, seq });

/** A line with these sequences, which fall. */
const lineOf =
  (seqs: readonly number[], onRead = (): void => {}): Line<Place> =>
  ({ seq: below }, limit) => {
    onRead();
    return seqs
      .filter((seq) => seq < below)
      .slice(0, limit)
      .map(placeOf);
  };

test("lines are merged in order, however long each is, from after a place on", () => {
  const every = (step: number, rest: number): number[] =>
    Array.from({ length: 3000 }, (_, index) => index).filter((n) => n % step === rest);
  for (const many of [1, 3, 4, 40]) {
    const lines = Array.from({ length: many }, (_, rest) => lineOf(every(many + 1, rest).reverse()));
    const all = Array.from({ length: 3000 }, (_, index) => 2999 - index).filter((n) => n % (many + 1) !== many);
    expect([...mergedLines(lines, null, START)].map(({ seq }) => seq)).toEqual(all);
    expect([...mergedLines(lines, null, placeOf(1500))].map(({ seq }) => seq)).toEqual(all.filter((n) => n < 1500));
  }
  expect([...mergedLines([], null, START)]).toEqual([]);
});

test("a line without a place is read once, and costs nothing for the places of the others", () => {
  let reads = 0;
  let looks = 0;
  const none: Line<Place> = () => {
    reads++;
    return new Proxy([], { get: (places, name) => (looks++, Reflect.get(places, name) as unknown) });
  };
  const seqs = Array.from({ length: 500 }, (_, index) => 500 - index);
  const merged = mergedLines([none, lineOf(seqs), none], null, START);
  expect(merged.next().value).toEqual(placeOf(500));
  const atFirst = looks;
  expect([...merged].map(({ seq }) => seq)).toEqual(seqs.slice(1));
  expect([reads, looks]).toEqual([2, atFirst]);
});

test("a line that is at its end is not read again, and each only as far as it is needed", () => {
  const reads = [0, 0];
  const lines = [
    lineOf([9, 8], () => reads[0]!++),
    lineOf(
      Array.from({ length: 5000 }, (_, index) => 5000 - index),
      () => reads[1]!++,
    ),
  ];
  expect(mergedLines(lines, null, START).take(10).toArray()).toHaveLength(10);
  expect(reads).toEqual([1, 1]);
});
