import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Line, type LineItem } from "../../../../src/store/memory/line.ts";

const inOrder = (a: LineItem, b: LineItem): number => a.order - b.order || a.seq - b.seq;

function standing(order: number, seq: number): LineItem {
  return { order, seq, spot: 0 };
}

function drain(line: Line<LineItem>): LineItem[] {
  const drained: LineItem[] = [];
  for (let first = line.first; first !== undefined; first = line.first) {
    drained.push(first);
    line.remove(first);
  }
  return drained;
}

describe("a line", () => {
  test("gives its items in order, whatever order they came in and whoever left meanwhile", () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ add: fc.integer({ min: 0, max: 20 }) }) },
      { weight: 2, arbitrary: fc.record({ removeNth: fc.nat() }) },
      { weight: 1, arbitrary: fc.constant("removeFirst" as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const line = new Line<LineItem>();
        const expected: LineItem[] = [];
        for (const [seq, step] of steps.entries()) {
          if (step !== "removeFirst" && "add" in step) {
            const item = standing(step.add, seq);
            line.add(item);
            expected.push(item);
            expected.sort(inOrder);
          } else if (expected.length > 0) {
            const at = step === "removeFirst" ? 0 : step.removeNth % expected.length;
            line.remove(expected.splice(at, 1)[0]!);
          }
          expect(line.size).toBe(expected.length);
          expect(line.first).toBe(expected[0]);
        }
        expect([...line].sort(inOrder)).toEqual(expected);
        expect(drain(line)).toEqual(expected);
      }),
    );
  });

  test("stays in order when it is long enough to give back what is dead at its front and in its middle", () => {
    const line = new Line<LineItem>();
    const items = Array.from({ length: 5_000 }, (_, seq) => standing(seq, seq));
    for (const item of items) line.add(item);
    for (const item of items.slice(0, 3_000)) line.remove(item);
    const kept = items.slice(3_000).filter((item) => item.seq % 5 === 0);
    for (const item of items.slice(3_000)) if (!kept.includes(item)) line.remove(item);
    for (let seq = 5_000; seq < 5_100; seq++) {
      const late = standing(seq - 2_000, seq);
      kept.push(late);
      line.add(late);
    }
    expect(line.size).toBe(kept.length);
    expect(drain(line)).toEqual(kept.sort(inOrder));
  });

  test("takes an item back that left it", () => {
    const line = new Line<LineItem>();
    const item = standing(1, 1);
    const other = standing(2, 2);
    for (const it of [item, other]) line.add(it);
    line.remove(item);
    item.order = 3;
    line.add(item);
    expect(drain(line)).toEqual([other, item]);
  });
});
