import { lostThenDone, NOON, storedJob } from "../tale.ts";
import { type BadHistory, ran } from "./bad-history.ts";

/** Histories that are wrong about cancel, capacity, slots, liveness and shutdown. */
export const operations: readonly BadHistory[] = [
  [
    "I16",
    "a cancelled job is claimed",
    (tale) =>
      tale
        .insert("a")
        .change("cancel", "a", "pending")
        .claim("w", ["a", 2, { attempt: 1, retryCount: 0 }])
        .dump(["a", "cancelled", { fence: 3 }]),
    ["I5"],
  ],
  [
    "I16",
    "a job that has ended is cancelled",
    (tale) => ran(tale).change("cancel", "a", "completed").dump(["a", "cancelled"]),
    ["I5", "I6"],
  ],
  [
    "I16",
    "a handler is not told of the cancel",
    (tale) =>
      tale
        .up("w")
        .insert("a")
        .claim("w", ["a", 1])
        .change("cancel", "a", "running")
        .wait(60_000)
        .dump(["a", "cancelled", { fence: 2 }]),
  ],
  [
    "I17",
    "a full queue takes a job",
    (tale) => {
      tale.configure("q", { capacity: 1 }).insert("a").insert("b").claim("w", ["a", 1], ["b", 1]);
      return tale.complete("w", "a", 1).complete("w", "b", 1).dump(["a", "completed"], ["b", "completed"]);
    },
  ],
  [
    "I18",
    "a worker runs more handlers than it has slots",
    (tale) => {
      tale.up("w", { slots: 1 }).insert("a").insert("b").claim("w", ["a", 1], ["b", 1]);
      return tale.complete("w", "a", 1).complete("w", "b", 1).dump(["a", "completed"], ["b", "completed"]);
    },
  ],
  [
    "I20",
    "a due job waits for ever",
    (tale) =>
      tale
        .insert("a")
        .see("calm", { boundMs: 1_000 })
        .wait(2_000)
        .dump(["a", "pending", { attempt: 0, runAt: NOON }]),
  ],
  [
    "I20",
    "a lease that ran out is never reclaimed",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).see("calm", { boundMs: 1_000 }).wait(30_000);
      tale.see("stored-job", storedJob("a", "running", tale.engine, { runAt: tale.engine + 1 }));
      return tale.see("dumped", { engine: tale.engine, expired: ["a"] }).lines;
    },
  ],
  [
    "I24",
    "a worker claims after it was told to stop",
    (tale) =>
      ran(tale.up("w").see("stopping", { worker: "w", graceMs: 1_000 }, "w"))
        .see("stopped", { worker: "w" }, "w")
        .dump(["a", "completed"]),
  ],
  [
    "I24",
    "a stopped worker leaves a job behind",
    (tale) => {
      tale.up("w").insert("a").claim("w", ["a", 1]).see("stopping", { worker: "w", graceMs: 1_000 }, "w").wait(1_000);
      tale.see("stopped", { worker: "w" }, "w").wait(12_000).lose("a", 1).wait(2_000);
      tale.claim("x", ["a", 3, { attempt: 2, retryCount: 0, lostCount: 1, runAt: tale.engine }]).complete("x", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "I24",
    "a worker takes longer to stop than it may",
    (tale) => tale.up("w").see("stopping", { worker: "w", graceMs: 1_000 }, "w").wait(5_000).see("stopped", { worker: "w" }, "w").dump(),
  ],
];
