import { readLimits, readOneKeyLimits } from "../../../src/core/limits.ts";
import type { Line } from "../line.ts";
import type { Tale } from "../tale.ts";
import type { GoodHistory } from "./good-history.ts";

/** Limits and turns, where they look exceeded and are not. */
export const limits: readonly GoodHistory[] = [
  [
    "a place is taken again in the moment in which its lease ends, before anybody has heard of it",
    (tale) => {
      tale
        .configure("q", { limits: readLimits({ running: 1 }) })
        .insert("a")
        .insert("b")
        .claim("w", ["a", 1]);
      tale.see("end", { worker: "w", job: "a", fence: 1, how: "ok" }, "w");
      const ending = tale.begin(
        "settle",
        {
          job: "a",
          fence: 1,
          outcome: "completed",
          to: "completed",
          delayMs: null,
          result: "done",
          error: null,
          ifExpired: false,
          made: null,
        },
        "w",
      );
      tale.claim("v", ["b", 1]);
      ending.end("ok", {});
      return completed(tale.complete("v", "b", 1), "a", "b");
    },
  ],
  [
    "leases from before there was a limit are more than it",
    (tale) => {
      tale
        .insert("a")
        .insert("b")
        .insert("c")
        .claim("w", ["a", 1], ["b", 1])
        .configure("q", { limits: readLimits({ running: 1 }) });
      tale.complete("w", "a", 1).complete("w", "b", 1).claim("w", ["c", 1]);
      return completed(tale.complete("w", "c", 1), "a", "b", "c");
    },
  ],
  [
    "a limit that was raised by a call without an answer counts, and so does one that is being raised",
    (tale) => {
      tale
        .configure("q", { limits: readLimits({ running: 1 }) })
        .insert("a")
        .insert("b")
        .insert("c");
      tale.configure("q", { limits: readLimits({ running: 2 }) }, "unknown").claim("w", ["a", 1], ["b", 1]);
      const raising = tale.begin("configure", { queue: "q", change: { limits: null } }, "operator");
      tale.claim("w", ["c", 1]);
      raising.end("ok", {});
      for (const job of ["a", "b", "c"]) tale.complete("w", job, 1);
      return completed(tale, "a", "b", "c");
    },
  ],
  [
    "a lease that may have been lost or cancelled gives its place to others",
    (tale) => {
      tale
        .configure("q", { limits: readLimits({ perKey: { running: 1 } }) })
        .insert("a", { limitKey: "k" })
        .insert("b", { limitKey: "k" });
      tale.claim("w", ["a", 1]).change("cancel", "a", "running").see("abort", { worker: "w", job: "a", fence: 1 }, "w");
      tale.claim("w", ["b", 1]).complete("w", "b", 1);
      const attempts = [{ number: 1, endedAt: null, outcome: "cancelled", kind: "cancelled" }] as const;
      return tale.dump(["a", "cancelled", { fence: 2, attempts }], ["b", "completed"]);
    },
  ],
  [
    "keys have limits of their own, and jobs without a key none",
    (tale) => {
      tale.configure("q", { limits: readLimits({ perKey: { running: 1 } }) }).limitKey("q", "k", readOneKeyLimits({ running: null }, "k"));
      tale.insert("a", { limitKey: "k" }).insert("b", { limitKey: "k" }).insert("c").insert("d");
      for (const job of ["a", "b", "c", "d"]) tale.claim("w", [job, 1]);
      for (const job of ["a", "b", "c", "d"]) tale.complete("w", job, 1);
      return completed(tale, "a", "b", "c", "d");
    },
  ],
  [
    "keys take turns, so that the last of one goes before the first of another",
    (tale) => {
      for (const job of ["a", "b", "c"]) tale.insert(job, { limitKey: "many" });
      tale.insert("x", { limitKey: "one" }).insert("y");
      for (const job of ["a", "y", "x", "b", "c"]) tale.claim("w", [job, 1]).complete("w", job, 1);
      return completed(tale, "a", "b", "c", "x", "y");
    },
  ],
  [
    "a key waits for its limit, and others start meanwhile",
    (tale) => {
      tale
        .configure("q", { limits: readLimits({ perKey: { running: 1 } }) })
        .insert("x", { limitKey: "full" })
        .insert("y", { limitKey: "full" });
      tale.claim("w", ["x", 1]);
      const others = ["a", "b", "c", "d", "e"];
      for (const job of others)
        tale
          .insert(job, { limitKey: `of ${job}` })
          .claim("w", [job, 1])
          .complete("w", job, 1);
      tale.complete("w", "x", 1).claim("w", ["y", 1]).complete("w", "y", 1);
      return completed(tale, "x", "y", ...others);
    },
  ],
  [
    "a key is held, keeps its place, and starts when it is held no longer",
    (tale) => {
      tale.insert("a", { limitKey: "k" }).insert("b", { limitKey: "k" }).claim("w", ["a", 1]);
      tale.see("end", { worker: "w", job: "a", fence: 1, how: "hold", delayMs: 1_000 }, "w");
      tale.settle("w", "a", 1, { outcome: "hold", to: "pending", delayMs: null, result: null, holdMs: 1_000 }).wait(1_500);
      tale
        .claim("w", ["a", 3, { attempt: 1, retryCount: 0 }])
        .claim("w", ["b", 1])
        .complete("w", "a", 3)
        .complete("w", "b", 1);
      return tale.dump(["a", "completed", { fence: 3 }], ["b", "completed"]);
    },
  ],
];

function completed(tale: Tale, ...jobs: readonly string[]): readonly Line[] {
  return tale.dump(...jobs.map((job) => [job, "completed"] as const));
}
