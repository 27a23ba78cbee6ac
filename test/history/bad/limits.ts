import { readLimits, readOneKeyLimits } from "../../../src/core/limits.ts";
import type { Line } from "../line.ts";
import type { Tale } from "../tale.ts";
import type { BadHistory } from "./bad-history.ts";

/** Histories in which a limit is exceeded, or a key waits for more than its turn. */
export const limits: readonly BadHistory[] = [
  [
    "limit",
    "a queue has a lease more than its limit",
    (tale) => {
      tale
        .configure("q", { limits: readLimits({ running: 2 }) })
        .insert("a")
        .insert("b")
        .insert("c");
      return completeAll(tale.claim("v", ["a", 1]).claim("w", ["b", 1]).claim("w", ["c", 1]), "a", "b", "c");
    },
  ],
  [
    "limit",
    "one claim is given more than there is room for",
    (tale) => {
      tale
        .configure("q", { limits: readLimits({ running: 1 }) })
        .insert("a")
        .insert("b");
      return completeAll(tale.claim("w", ["a", 1], ["b", 1]), "a", "b");
    },
  ],
  [
    "limit",
    "a limit key has a lease more than its limit, though its queue has room",
    (tale) => {
      tale.configure("q", { limits: readLimits({ running: 9, perKey: { running: 1 } }) });
      tale.insert("a", { limitKey: "k" }).insert("b", { limitKey: "k" });
      return completeAll(tale.claim("w", ["a", 1]).claim("w", ["b", 1]), "a", "b");
    },
  ],
  [
    "limit",
    "a limit key has more leases than its own limit allows",
    (tale) => {
      tale.configure("q", { limits: readLimits({ perKey: { running: 5 } }) }).limitKey("q", "k", readOneKeyLimits({ running: 1 }, "k"));
      tale.insert("a", { limitKey: "k" }).insert("b", { limitKey: "k" });
      return completeAll(tale.claim("w", ["a", 1]).claim("w", ["b", 1]), "a", "b");
    },
  ],
  [
    "limit",
    "a lowered limit lets more start while it does not fit",
    (tale) => {
      tale
        .configure("q", { limits: readLimits({ running: 5 }) })
        .insert("a")
        .insert("b")
        .insert("c");
      tale
        .claim("w", ["a", 1], ["b", 1])
        .configure("q", { limits: readLimits({ running: 1 }) })
        .complete("w", "a", 1)
        .claim("w", ["c", 1]);
      return tale.complete("w", "b", 1).complete("w", "c", 1).dump(["a", "completed"], ["b", "completed"], ["c", "completed"]);
    },
  ],
  [
    "limit",
    "a held key starts a job",
    (tale) => {
      tale.insert("a", { limitKey: "k" }).insert("b", { limitKey: "k" }).claim("w", ["a", 1]);
      tale.see("end", { worker: "w", job: "a", fence: 1, how: "ok" }, "w").settle("w", "a", 1, { holdMs: 5_000 }).wait(1_000);
      return tale.claim("w", ["b", 1]).complete("w", "b", 1).dump(["a", "completed"], ["b", "completed"]);
    },
  ],
  [
    "turns",
    "a key waits while another starts one job after the other",
    (tale) => {
      tale.insert("x", { limitKey: "patient" });
      const greedy = ["a", "b", "c", "d"];
      for (const job of greedy) tale.insert(job, { limitKey: "greedy" });
      for (const job of greedy) tale.claim("w", [job, 1]).complete("w", job, 1);
      tale.claim("w", ["x", 1]).complete("w", "x", 1);
      return tale.dump(...["x", ...greedy].map((job) => [job, "completed"] as const));
    },
  ],
];

function completeAll(tale: Tale, ...jobs: readonly string[]): readonly Line[] {
  for (const job of jobs) tale.complete("w", job, 1);
  return tale.dump(...jobs.map((job) => [job, "completed"] as const));
}
