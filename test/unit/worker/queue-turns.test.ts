import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { QueueTurns } from "../../../src/worker/queue-turns.ts";

const firsts = (turns: QueueTurns, count: number): string[] => Array.from({ length: count }, () => turns.next()[0]!);

describe("whose turn it is", () => {
  test("equal queues take turns, and the others follow in order", () => {
    const turns = new QueueTurns(new Map(["a", "b", "c"].map((name) => [name, 1])));
    expect([turns.next(), turns.next(), turns.next(), turns.next()]).toEqual([
      ["a", "b", "c"],
      ["b", "c", "a"],
      ["c", "a", "b"],
      ["a", "b", "c"],
    ]);
  });

  test("weights are spread out, not served in a row", () => {
    const turns = new QueueTurns(
      new Map([
        ["mail", 3],
        ["other", 1],
      ]),
    );
    expect(firsts(turns, 8)).toEqual(["mail", "mail", "other", "mail", "mail", "mail", "other", "mail"]);
  });

  test.prop([fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 6 })])(
    "each is first as often as its weight says",
    (weights) => {
      const turns = new QueueTurns(new Map(weights.map((weight, index) => [`q${index}`, weight])));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const seen = firsts(turns, total);
      expect(weights.map((_, index) => seen.filter((name) => name === `q${index}`).length)).toEqual(weights);
    },
  );
});
