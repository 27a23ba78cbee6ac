import { STRANGER } from "../line.ts";
import { lostThenDone, type Tale } from "../tale.ts";
import { afterLoss, type GoodHistory } from "./good-history.ts";

/** A worker with one slot or more that was seen to work. */
function atWork(tale: Tale, slots = 10): Tale {
  tale.up("w", { slots }).healthy(300, "w").insert("first").claim("w", ["first", 1]).complete("w", "first", 1);
  return tale.healthy(300, "w");
}

/** A job that waited, and ends well. */
function endWell(tale: Tale, job = "a"): Tale {
  return tale.claim("w", [job, 1]).complete("w", job, 1);
}

/** Where somebody waits, and nobody is to blame. */
export const strangers: readonly GoodHistory[] = [
  [
    "a job waits while the store takes no writes, also not those of others",
    (tale) => {
      atWork(tale).insert("a");
      for (let left = 4_000; left > 0; left -= 100) tale.wait(100).see("pulse", {}, "w");
      return endWell(tale).dump(["first", "completed"], ["a", "completed"]);
    },
  ],
  [
    "a job waits while the loop of the worker stands still",
    (tale) => endWell(atWork(tale).insert("a").healthy(4_000)).dump(["first", "completed"], ["a", "completed"]),
  ],
  [
    "a job waits while all slots of the worker are taken",
    (tale) => {
      atWork(tale, 1).insert("long").claim("w", ["long", 1]).insert("a").healthy(4_000, "w").complete("w", "long", 1);
      return endWell(tale).dump(["first", "completed"], ["long", "completed"], ["a", "completed"]);
    },
  ],
  [
    "a job waits because a stranger holds its row",
    (tale) => {
      atWork(tale)
        .insert("a")
        .healthy(4_000, "w")
        .see("fault", { what: "row held", who: STRANGER, from: 0, jobs: ["a"] });
      return endWell(tale).dump(["first", "completed"], ["a", "completed"]);
    },
  ],
  [
    "the only slot of a worker is taken by a job whose row a stranger holds",
    (tale) => {
      atWork(tale, 1).insert("held").claim("w", ["held", 1]).see("end", { worker: "w", job: "held", fence: 1, how: "ok" }, "w");
      tale
        .insert("a")
        .healthy(4_000, "w")
        .see("fault", { what: "row held", who: STRANGER, from: 0, jobs: ["held"] });
      endWell(tale.settle("w", "held", 1));
      return tale.dump(["first", "completed"], ["held", "completed"], ["a", "completed"]);
    },
  ],
  [
    "a job waits while its worker recovers from a fault of its own",
    (tale) => {
      const from = atWork(tale).now;
      tale.insert("a").healthy(4_000, "w").see("fault", { what: "network stalled", who: "w", from }).healthy(4_000, "w");
      return endWell(tale).dump(["first", "completed"], ["a", "completed"]);
    },
  ],
  [
    "a worker takes one job after the other, and the last one waits long",
    (tale) => {
      atWork(tale, 1).insert("a");
      const others = Array.from({ length: 4 }, (_, index) => `other-${index}`);
      for (const job of others) tale.insert(job, { priority: 10 }).claim("w", [job, 1]).healthy(1_000, "w").complete("w", job, 1);
      const stored = others.map((job) => [job, "completed", { priority: 10 }] as const);
      return endWell(tale).dump(["first", "completed"], ...stored, ["a", "completed"]);
    },
  ],
  [
    "a claim passes over what another claim has taken that fails in the end",
    (tale) => {
      const failing = tale.insert("a").insert("b").beginClaim("x");
      tale.claim("w", ["b", 1]);
      failing.end("unknown", {});
      return tale.complete("w", "b", 1).claim("w", ["a", 1]).complete("w", "a", 1).dump(["a", "completed"], ["b", "completed"]);
    },
  ],
  [
    "a claimed job that no handler saw is lost with its process",
    (tale) => {
      const claim = atWork(tale).up("x").insert("a").beginClaim("w");
      claim.end("ok", { granted: [tale.lease("a", 1, { runAt: tale.dueAt("a") })] });
      tale.see("fault", { what: "crash", who: "w" }).healthy(11_000, "x").lose("a", 1).wait(2_000);
      tale.claim("x", ["a", 3, afterLoss(tale)]).complete("x", "a", 3);
      return tale.dump(["first", "completed"], ["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "a claim that the store answered only when its lease had run out is lost unseen",
    (tale) => {
      const claim = atWork(tale).insert("a").beginClaim("w");
      const lease = tale.lease("a", 1, { runAt: tale.dueAt("a") });
      const from = tale.now;
      tale.wait(11_000).see("fault", { what: "commits stalled", who: null, from });
      tale.lose("a", 1);
      claim.end("ok", { granted: [lease] });
      tale
        .healthy(2_000, "w")
        .claim("w", ["a", 3, afterLoss(tale)])
        .complete("w", "a", 3);
      return tale.dump(["first", "completed"], ["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
];
