import { lostThenDone, NOON } from "../tale.ts";
import { type BadHistory, ran } from "./bad-history.ts";

/** Histories that are wrong about ends, attempts and times. */
export const attempts: readonly BadHistory[] = [
  [
    "I5",
    "a completed job is claimed again",
    (tale) =>
      ran(tale)
        .claim("w", ["a", 2])
        .complete("w", "a", 2)
        .dump(["a", "completed", { attempt: 2 }]),
    ["I6"],
  ],
  [
    "I5",
    "a job is stored as completed, and nobody reported it",
    (tale) => tale.insert("a").claim("w", ["a", 1]).see("end", { worker: "w", job: "a", fence: 1, how: "ok" }).dump(["a", "completed"]),
  ],
  [
    "I5",
    "a job that died waits again",
    (tale) => ran(tale.insert("b").claim("w", ["b", 1]).die("w", "b", 1)).dump(["a", "completed"], ["b", "pending"]),
    ["I14"],
  ],
  ["I5", "another result is stored than was reported", (tale) => ran(tale).dump(["a", "completed", { result: "of another" }])],
  [
    "I6",
    "a job fails more often than it may",
    (tale) => {
      tale.insert("a", { maxRetries: 0 }).claim("w", ["a", 1]).fail("w", "a", 1).wait(2_000);
      tale.claim("w", ["a", 2, { runAt: tale.engine }]).die("w", "a", 2);
      return tale.dump(["a", "dead", { attempt: 2, retryCount: 1, maxRetries: 0 }]);
    },
  ],
  [
    "I6",
    "a release costs an attempt",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).settle("w", "a", 1, { outcome: "release", to: "pending" });
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 0 }]).complete("w", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3 }]);
    },
  ],
  [
    "I6",
    "a lost attempt spends a retry",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).wait(11_000).lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 1, lostCount: 1, runAt: tale.engine }]).complete("w", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "I6",
    "a job is dead of its first loss, though it may be lost again",
    (tale) => {
      tale.insert("a", { maxRetries: 0, maxLost: 1 }).claim("w", ["a", 1]).wait(11_000).lose("a", 1, { to: "dead", delayMs: null });
      const [lost] = lostThenDone;
      return tale.dump(["a", "dead", { maxRetries: 0, maxLost: 1, lostCount: 1, fence: 2, attempts: [lost] }]);
    },
  ],
  [
    "I6",
    "a job is lost more often than it may",
    (tale) => {
      tale.insert("a", { maxLost: 0 }).claim("w", ["a", 1]).wait(11_000).lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 0, lostCount: 1, runAt: tale.engine }]).complete("w", "a", 3);
      return tale.dump(["a", "completed", { maxLost: 0, attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "I7",
    "jobs that were lost a second time wait longer than their spread",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).wait(11_000).lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 0, lostCount: 1, runAt: tale.engine }]).wait(11_000);
      tale.lose("a", 3, { delayMs: 31_000 }).wait(31_000);
      tale.claim("w", ["a", 5, { attempt: 3, retryCount: 0, lostCount: 2, runAt: tale.engine }]).complete("w", "a", 5);
      const attempts = [lostThenDone[0], { ...lostThenDone[0], number: 2 }, { ...lostThenDone[1], number: 3 }];
      return tale.dump(["a", "completed", { lostCount: 2, attempt: 3, fence: 5, attempts }]);
    },
  ],
  [
    "I6",
    "a lost attempt is not counted",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).wait(11_000).lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 0, runAt: tale.engine }]).complete("w", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  ["I6", "the history leaves out an attempt", (tale) => ran(tale).dump(["a", "completed", { attempts: [] }])],
  [
    "I6",
    "the history tells an attempt otherwise",
    (tale) => ran(tale).dump(["a", "completed", { attempts: [{ number: 1, endedAt: null, outcome: "failed", kind: "error" }] }]),
  ],
  [
    "I7",
    "a retry waits longer than its curve",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).fail("w", "a", 1, { delayMs: 5_000 }).wait(6_000);
      tale.claim("w", ["a", 2, { runAt: tale.engine }]).complete("w", "a", 2);
      return tale.dump(["a", "completed", { attempt: 2 }]);
    },
  ],
  [
    "I7",
    "a retry is due before its delay is over",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).fail("w", "a", 1).wait(200);
      tale.claim("w", ["a", 2, { runAt: tale.engine }]).complete("w", "a", 2);
      return tale.dump(["a", "completed", { attempt: 2 }]);
    },
  ],
  [
    "I7",
    "a snooze is shorter than a second",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).see("end", { worker: "w", job: "a", fence: 1, how: "snooze", delayMs: 200 }, "w");
      tale.settle("w", "a", 1, { outcome: "snooze", to: "scheduled", delayMs: 200 }).wait(300);
      tale.claim("w", ["a", 2, { attempt: 1, retryCount: 0, runAt: tale.engine }]).complete("w", "a", 2);
      return tale.dump(["a", "completed", { fence: 2 }]);
    },
  ],
  [
    "I8",
    "a job is claimed before it is due",
    (tale) => tale.insert("a", { delayMs: 5_000 }).claim("w", ["a", 1]).complete("w", "a", 1).dump(["a", "completed"]),
  ],
  [
    "I8",
    "a job is due at another time than was asked for",
    (tale) =>
      tale
        .insert("a", { delayMs: 5_000 }, "ok", { runAt: NOON + 1 })
        .change("cancel", "a", "scheduled")
        .dump(["a", "cancelled", { attempt: 0 }]),
  ],
  [
    "I8",
    "a job is created by another clock than the engine's",
    (tale) =>
      tale
        .insert("a", {}, "ok", { createdAt: NOON - 90_000, runAt: NOON - 90_000 })
        .change("cancel", "a", "pending")
        .dump(["a", "cancelled", { attempt: 0 }]),
  ],
  [
    "I8",
    "a job waits in calm times while a slot is free",
    (tale) => {
      tale.up("w").see("calm", { boundMs: 60_000 }).wait(20_000).insert("a").wait(9_000);
      return tale.claim("w", ["a", 1]).complete("w", "a", 1).dump(["a", "completed"]);
    },
  ],
];
