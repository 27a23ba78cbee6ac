import { STRANGER } from "../line.ts";
import { lostThenDone, type Tale } from "../tale.ts";
import { afterLoss } from "../good/good-history.ts";
import { type BadHistory, ran } from "./bad-history.ts";

/** A worker that was seen to work and to whom nothing was done. */
function atWork(tale: Tale, slots = 10): Tale {
  return ran(tale.up("w", { slots }).healthy(300, "w"), "first").healthy(300, "w");
}

/** Histories in which somebody waits for a stranger, or a job for nobody. */
export const strangers: readonly BadHistory[] = [
  [
    "progress",
    "a healthy worker with slots free lets a job wait",
    (tale) => {
      atWork(tale).insert("a").healthy(4_000, "w").claim("w", ["a", 1]).complete("w", "a", 1);
      return tale.dump(["first", "completed"], ["a", "completed"]);
    },
  ],
  [
    "progress",
    "the claim of a healthy worker is not answered for seconds, and it takes nothing meanwhile",
    (tale) => {
      const claim = atWork(tale).insert("a").beginClaim("w");
      tale.healthy(4_000, "w");
      claim.end("ok", { granted: [tale.lease("a", 1, { runAt: tale.dueAt("a") })] });
      return tale.start("w", "a", 1).complete("w", "a", 1).dump(["first", "completed"], ["a", "completed"]);
    },
  ],
  [
    "progress",
    "one row that a stranger holds keeps a worker from all other jobs",
    (tale) => {
      atWork(tale).insert("held").claim("w", ["held", 1]).see("end", { worker: "w", job: "held", fence: 1, how: "ok" }, "w").insert("a");
      const from = tale.now;
      tale
        .healthy(4_000, "w")
        .see("fault", { what: "row held", who: STRANGER, from, jobs: ["held"] })
        .settle("w", "held", 1);
      return tale.claim("w", ["a", 1]).complete("w", "a", 1).dump(["first", "completed"], ["held", "completed"], ["a", "completed"]);
    },
  ],
  [
    "progress",
    "a worker does not come back long after its fault is over",
    (tale) => {
      atWork(tale).see("fault", { what: "network stalled", who: "w" }).insert("a").healthy(20_000, "w");
      return tale.claim("w", ["a", 1]).complete("w", "a", 1).dump(["first", "completed"], ["a", "completed"]);
    },
  ],
  [
    "unseen",
    "a healthy worker is granted a job and starts no handler, until the lease runs out",
    (tale) => {
      const claim = atWork(tale).insert("a").beginClaim("w");
      claim.end("ok", { granted: [tale.lease("a", 1, { runAt: tale.dueAt("a") })] });
      tale.healthy(11_000, "w").lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, afterLoss(tale)]).complete("w", "a", 3);
      return tale.dump(["first", "completed"], ["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "unseen",
    "a claim is granted twice, once to nobody",
    (tale) => {
      atWork(tale).insert("a");
      const startedAt = tale.engine;
      tale.beginClaim("w").end("ok", { granted: [] });
      tale.healthy(11_000, "w").lose("a", 1).wait(2_000);
      tale.claim("w", ["a", 3, afterLoss(tale)]).complete("w", "a", 3);
      const [lost, done] = lostThenDone;
      const attempts = [{ ...lost, worker: "w", startedAt }, done];
      return tale.dump(["first", "completed"], ["a", "completed", { attempt: 2, fence: 3, attempts }]);
    },
  ],
];
