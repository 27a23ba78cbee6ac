import { lostThenDone, NOON } from "../tale.ts";
import { type BadHistory, ran } from "./bad-history.ts";

/** Histories that are wrong about leases and fences. */
export const leases: readonly BadHistory[] = [
  [
    "I3",
    "a job is granted again while its lease holds",
    (tale) =>
      tale
        .insert("a")
        .claim("w1", ["a", 1])
        .claim("w2", ["a", 2])
        .complete("w2", "a", 2)
        .dump(["a", "completed", { attempt: 2 }]),
  ],
  [
    "I3",
    "one fence is granted to two workers",
    (tale) => tale.insert("a").claim("w1", ["a", 1]).claim("w2", ["a", 1]).complete("w2", "a", 1).dump(["a", "completed"]),
  ],
  [
    "I3",
    "a lease is reclaimed before it has run out",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).wait(5_000).lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 0, lostCount: 1, runAt: tale.engine }]).complete("w", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "I3",
    "the engine itself has stored that a lease was reclaimed before its end",
    (tale) => {
      const tooEarly = tale.engine + 9_000;
      tale.insert("a").claim("w", ["a", 1]).wait(11_000).lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 0, lostCount: 1, runAt: tale.engine }]).complete("w", "a", 3);
      const [lost, done] = lostThenDone;
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: [{ ...lost, endedAt: tooEarly }, done] }]);
    },
  ],
  [
    "I3",
    "a lease is reclaimed although it was renewed",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).wait(5_000).extend("w", "a", 1).wait(6_000).lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 0, lostCount: 1, runAt: tale.engine }]).complete("w", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "I3",
    "a lease is granted for less than was asked for",
    (tale) =>
      tale
        .insert("a")
        .claim("w", ["a", 1, { leaseUntil: NOON + 100 }])
        .complete("w", "a", 1)
        .dump(["a", "completed"]),
  ],
  [
    "I4",
    "a renewal under an old fence is accepted",
    (tale) => {
      tale.insert("a").claim("w1", ["a", 1]).wait(11_000).lose("a", 1).wait(2_000);
      tale
        .claim("w2", ["a", 3, { attempt: 2, retryCount: 0, lostCount: 1, runAt: tale.engine }])
        .extend("w1", "a", 1)
        .complete("w2", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "I4",
    "one lease is settled in two ways",
    (tale) =>
      tale
        .insert("a")
        .claim("w", ["a", 1])
        .complete("w", "a", 1)
        .settle("w", "a", 1, { outcome: "release", to: "pending" })
        .dump(["a", "completed"]),
  ],
  [
    "I4",
    "one lease is reclaimed twice",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).wait(11_000).lose("a", 1).lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 0, lostCount: 1, runAt: tale.engine }]).complete("w", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "I4",
    "a note is accepted after its lease was settled",
    (tale) => ran(tale).call("note", { job: "a", fence: 1 }, "ok", {}, "w").dump(["a", "completed"]),
  ],
  [
    "I4",
    "a renewal is accepted after the job was cancelled",
    (tale) =>
      tale
        .insert("a")
        .claim("w", ["a", 1])
        .change("cancel", "a", "running")
        .extend("w", "a", 1)
        .dump(["a", "cancelled", { fence: 2 }]),
  ],
  [
    "I4",
    "the repeat of a report that was applied is refused",
    (tale) =>
      tale.insert("a").claim("w", ["a", 1]).complete("w", "a", 1, "unknown").settle("w", "a", 1, {}, "fail").dump(["a", "completed"]),
  ],
];
