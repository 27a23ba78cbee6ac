import type { Line } from "../line.ts";
import type { Tale } from "../tale.ts";
import { type BadHistory, ran } from "./bad-history.ts";

/** Histories that are wrong about whose turn it is. */
export const order: readonly BadHistory[] = [
  [
    "I9",
    "the lower priority goes first",
    (tale) =>
      both(
        tale
          .insert("a", { priority: 10 })
          .insert("b")
          .claim("w", ["b", 1])
          .complete("w", "b", 1)
          .claim("w", ["a", 1])
          .complete("w", "a", 1),
        10,
      ),
  ],
  [
    "I10",
    "the last in goes first",
    (tale) => both(tale.insert("a").insert("b").claim("w", ["b", 1]).complete("w", "b", 1).claim("w", ["a", 1]).complete("w", "a", 1), 0),
  ],
  [
    "I11",
    "a priority overtakes by more than its head start",
    (tale) => {
      tale.configure("q", { headStartMs: 100 }).insert("b").wait(5_000).insert("a", { priority: 10 });
      return both(tale.claim("w", ["a", 1]).complete("w", "a", 1).claim("w", ["b", 1]).complete("w", "b", 1), 10);
    },
  ],
  ["pause", "a paused queue gives a job", (tale) => ran(tale.configure("q", { paused: true })).dump(["a", "completed"])],
];

function both(tale: Tale, priority: number): readonly Line[] {
  return tale.dump(["a", "completed", { priority }], ["b", "completed"]);
}
