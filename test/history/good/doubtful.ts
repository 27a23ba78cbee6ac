import { lostThenDone, NOON, sentJob } from "../tale.ts";
import { afterLoss, again, type GoodHistory } from "./good-history.ts";

/** Answers that are lost or late, workers that come back from the dead, clocks that jump. */
export const doubtful: readonly GoodHistory[] = [
  ["a job runs and ends", (tale) => tale.insert("a").claim("w", ["a", 1]).complete("w", "a", 1).dump(["a", "completed"])],
  ["an insert is lost before it reached the store", (tale) => tale.insert("a", {}, "unknown").dump()],
  [
    "an insert takes effect and its answer is lost",
    (tale) => tale.insert("a", {}, "unknown").claim("w", ["a", 1]).complete("w", "a", 1).dump(["a", "completed"]),
  ],
  [
    "a producer dies before its answer",
    (tale) => {
      tale.begin("insert", sentJob("a"));
      return tale.claim("w", ["a", 1]).complete("w", "a", 1).dump(["a", "completed"]);
    },
  ],
  [
    "an insert is sent again under its id, and answered as the first was",
    (tale) => {
      tale
        .insert("a", {}, "unknown")
        .wait(500)
        .insert("a", {}, "ok", { createdAt: NOON + 2, runAt: NOON + 2 });
      return tale.claim("w", ["a", 1]).complete("w", "a", 1).dump(["a", "completed"]);
    },
  ],
  [
    "the engine itself sends it again, when it has run and snoozed, and answers how it is by then",
    (tale) => {
      const begun = tale.begin("insert", sentJob("a"));
      const createdAt = tale.engine;
      tale.claim("w", ["a", 1, { runAt: createdAt }]).see("end", { worker: "w", job: "a", fence: 1, how: "snooze", delayMs: 1_000 }, "w");
      tale.settle("w", "a", 1, { outcome: "snooze", to: "scheduled", delayMs: 1_000, result: null });
      const runAt = tale.engine + 1_000;
      begun.end("ok", { kind: "created", status: "scheduled", createdAt, runAt });
      tale.wait(1_001).claim("w", ["a", 2, { attempt: 1, retryCount: 0, runAt }]);
      return tale.complete("w", "a", 2).dump(["a", "completed", { attempt: 1, fence: 2 }]);
    },
  ],
  [
    "the engine itself sends it again, when it was claimed unheard and lost, and answers how it is by then",
    (tale) => {
      const begun = tale.begin("insert", sentJob("a"));
      const createdAt = tale.engine;
      tale.beginClaim("w").end("unknown", {});
      tale.wait(11_000).lose("a", 1);
      const runAt = tale.engine + 1_000;
      begun.end("ok", { kind: "created", status: "retrying", createdAt, runAt });
      tale.wait(1_001).claim("w", ["a", 3, { ...afterLoss(tale), runAt }]);
      return tale.complete("w", "a", 3).dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "a report whose answer was lost is said again and accepted",
    (tale) => tale.insert("a").claim("w", ["a", 1]).complete("w", "a", 1, "unknown").settle("w", "a", 1).dump(["a", "completed"]),
  ],
  [
    "it was a failure, and the delay that counts is that of the first time",
    (tale) => {
      tale
        .insert("a")
        .claim("w", ["a", 1])
        .fail("w", "a", 1, { delayMs: 800 }, "unknown")
        .wait(50)
        .settle("w", "a", 1, { outcome: "failed", to: "retrying", delayMs: 1_200, result: null, error: "boom" });
      return tale
        .wait(800)
        .claim("w", ["a", 2, { ...again(tale), runAt: NOON + 810 }])
        .complete("w", "a", 2)
        .dump(["a", "completed", { attempt: 2 }]);
    },
  ],
  [
    "the repeat comes after a retry by hand and the next life",
    (tale) => {
      tale
        .insert("a", { maxRetries: 0 })
        .claim("w", ["a", 1])
        .die("w", "a", 1, "unknown")
        .change("retry", "a", "dead")
        .settle("w", "a", 1, { outcome: "failed", to: "dead", error: "boom", result: null });
      tale.claim("w", ["a", 2, { retryCount: 0, runAt: tale.engine }]).die("w", "a", 2);
      return tale.dump(["a", "dead", { attempt: 2, maxRetries: 0 }]);
    },
  ],
  [
    "the answer to a claim is lost, and the claim is asked for again",
    (tale) => {
      tale.insert("a").beginClaim("w", { turn: 7 }).end("unknown", {});
      const lease = tale.lease("a", 1, { runAt: NOON + 2, startedAt: NOON + 4 });
      tale
        .wait(1_000)
        .beginClaim("w", { turn: 7, again: true })
        .end("ok", { granted: [{ ...lease, leaseUntil: tale.engine + 10_000 }] });
      return tale.start("w", "a", 1).complete("w", "a", 1).dump(["a", "completed"]);
    },
  ],
  [
    "a frozen worker comes back when another has done its job, and all it says is refused",
    (tale) => {
      tale
        .insert("a")
        .claim("zombie", ["a", 1])
        .wait(11_000)
        .lose("a", 1)
        .wait(2_000)
        .claim("w", ["a", 3, afterLoss(tale)])
        .complete("w", "a", 3);
      tale.extend("zombie", "a", 1, "fail").call("note", { job: "a", fence: 1 }, "fail", {}, "zombie").complete("zombie", "a", 1, "fail");
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "the answer to a claim comes when its lease was lost and granted anew",
    (tale) => {
      const slow = tale.insert("a").beginClaim("slow");
      const lease = tale.lease("a", 1, { runAt: NOON + 2 });
      tale
        .wait(11_000)
        .lose("a", 1)
        .wait(2_000)
        .claim("w", ["a", 3, afterLoss(tale)]);
      slow.end("ok", { granted: [lease] });
      tale.start("slow", "a", 1).extend("slow", "a", 1, "fail").complete("w", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "two processes reclaim one lease, and one is told that it was too late",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).wait(11_000).lose("a", 1).lose("a", 1, {}, "unknown").wait(2_000);
      return tale
        .claim("w", ["a", 3, afterLoss(tale)])
        .complete("w", "a", 3)
        .dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "the engine's clock is set forward and ends a lease early",
    (tale) => {
      tale
        .insert("a")
        .claim("w", ["a", 1])
        .wait(1_000)
        .see("clock", { engine: tale.engine + 60_000, withinMs: 0 });
      tale.lose("a", 1).wait(2_000);
      const startedAt = tale.engine + 60_000;
      tale.claim("w", ["a", 3, { ...afterLoss(tale), runAt: startedAt, startedAt, leaseUntil: startedAt + 10_000 }]).complete("w", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
];
