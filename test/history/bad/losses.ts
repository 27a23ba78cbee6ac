import { NOON } from "../tale.ts";
import { type BadHistory, ran } from "./bad-history.ts";

/** Histories that are wrong about jobs that are lost, and jobs that nobody sent. */
export const losses: readonly BadHistory[] = [
  ["I1", "an accepted job is not there at the end", (tale) => tale.insert("a").dump()],
  [
    "I1",
    "a job is removed while it runs",
    (tale) => tale.insert("a").claim("w", ["a", 1]).remove("a", "running").complete("w", "a", 1, "fail").dump(),
  ],
  [
    "I1",
    "a job is completed and no handler ever ended well",
    (tale) => tale.insert("a").claim("w", ["a", 1]).settle("w", "a", 1).dump(["a", "completed"]),
  ],
  [
    "I1",
    "a job is pruned before its time",
    (tale) => {
      ran(tale).wait(1_000);
      const rule = { queue: "q", ageMs: 60_000, count: 10_000, keepAtLeastMs: 10_000 };
      return tale.call("prune", { rules: [rule] }, "ok", { removed: 1 }).dump();
    },
  ],
  [
    "I1",
    "a job is pruned for its number, and there never were so many",
    (tale) => {
      ran(tale).wait(20_000);
      const rule = { queue: "q", ageMs: 60_000, count: 10, keepAtLeastMs: 10_000 };
      return tale.call("prune", { rules: [rule] }, "ok", { removed: 1 }).dump();
    },
  ],
  [
    "I1",
    "a producer is told of a job that the store refused",
    (tale) => {
      const begun = tale.begin("enqueue", { queue: "q", key: null, print: "print of a" });
      tale.insert("a", {}, "fail", { kind: "full" });
      begun.end("ok", { job: "a", created: true });
      return tale.dump();
    },
  ],
  ["I2", "a job is there that nobody sent", (tale) => tale.change("cancel", "a", "pending").dump(["a", "cancelled", { attempt: 0 }])],
  [
    "I2",
    "a job that was refused is there all the same",
    (tale) =>
      tale
        .insert("a", {}, "fail", { kind: "full" })
        .change("cancel", "a", "pending")
        .dump(["a", "cancelled", { attempt: 0 }]),
  ],
  [
    "I2",
    "a handler gets another payload than was sent",
    (tale) => {
      tale
        .insert("a")
        .beginClaim("w")
        .end("ok", { granted: [tale.lease("a", 1, { runAt: NOON + 2 })] });
      return tale.start("w", "a", 1, "print of another").complete("w", "a", 1).dump(["a", "completed"]);
    },
  ],
  ["I2", "a job is stored twice", (tale) => ran(tale).dump(["a", "completed"], ["a", "completed"])],
  ["I2", "a job is stored under another priority", (tale) => ran(tale).dump(["a", "completed", { priority: 10 }])],
];
