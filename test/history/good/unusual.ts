import { lostThenDone, NOON, sentJob } from "../tale.ts";
import { afterLoss, again, type GoodHistory } from "./good-history.ts";

/** Operators, keys, retention, schedules, order and shutdown, where they are not as one expects. */
export const unusual: readonly GoodHistory[] = [
  [
    "a running job is cancelled, its late answer is refused, and it is given a new life",
    (tale) => {
      tale.up("w").insert("a").claim("w", ["a", 1]).change("cancel", "a", "running").see("abort", { worker: "w", job: "a", fence: 1 }, "w");
      tale.complete("w", "a", 1, "fail").change("retry", "a", "cancelled");
      tale.claim("w", ["a", 3, { attempt: 2, retryCount: 0, runAt: tale.engine }]).complete("w", "a", 3);
      const attempts = [{ number: 1, endedAt: null, outcome: "cancelled", kind: "cancelled" } as const, lostThenDone[1]];
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts }]);
    },
  ],
  [
    "a handler finishes in the moment in which its job is cancelled",
    (tale) =>
      tale.insert("a").claim("w", ["a", 1]).complete("w", "a", 1).change("cancel", "a", "completed", "fail").dump(["a", "completed"]),
  ],
  [
    "a cancelled handler is not told, because its process was frozen",
    (tale) => {
      tale.up("w").insert("a").claim("w", ["a", 1]).see("fault", { what: "freeze", who: "w", until: 90_000 });
      return tale
        .change("cancel", "a", "running")
        .wait(60_000)
        .dump(["a", "cancelled", { fence: 2 }]);
    },
  ],
  [
    "a dead job is retried, dies again, and is purged",
    (tale) => {
      tale.insert("a", { maxRetries: 0 }).claim("w", ["a", 1]).die("w", "a", 1).change("retry", "a", "dead");
      return tale
        .claim("w", ["a", 2, { retryCount: 0, runAt: tale.engine }])
        .die("w", "a", 2)
        .remove("a", "dead")
        .dump();
    },
  ],
  [
    "a job without retries is lost twice, fails never, and completes",
    (tale) => {
      tale.insert("a", { maxRetries: 0, maxLost: 2 }).claim("w", ["a", 1]).wait(11_000).lose("a", 1).wait(2_000);
      tale
        .claim("w", ["a", 3, afterLoss(tale)])
        .wait(11_000)
        .lose("a", 3, { delayMs: 29_000 })
        .wait(29_000);
      tale.claim("w", ["a", 5, { attempt: 3, retryCount: 0, lostCount: 2, runAt: tale.engine }]).complete("w", "a", 5);
      const attempts = [lostThenDone[0], { ...lostThenDone[0], number: 2 }, { ...lostThenDone[1], number: 3 }];
      return tale.dump(["a", "completed", { maxRetries: 0, maxLost: 2, lostCount: 2, attempt: 3, fence: 5, attempts }]);
    },
  ],
  [
    "releases and snoozes cost nothing",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).settle("w", "a", 1, { outcome: "release", to: "pending" });
      tale
        .claim("w", ["a", 3, { attempt: 1, retryCount: 0 }])
        .see("end", { worker: "w", job: "a", fence: 3, how: "snooze", delayMs: 500 }, "w");
      tale.settle("w", "a", 3, { outcome: "snooze", to: "scheduled", delayMs: 1_000 }).wait(1_000);
      return tale
        .claim("w", ["a", 4, { attempt: 1, retryCount: 0, runAt: tale.engine }])
        .complete("w", "a", 4)
        .dump(["a", "completed", { fence: 4 }]);
    },
  ],
  [
    "a key is known, then a conflict, then free again",
    (tale) => {
      tale.insert("a", { key: "k", print: "same" }).insert("b", { key: "k", print: "same" }, "fail", { kind: "known", holder: "a" });
      tale
        .insert("c", { key: "k", print: "other" }, "fail", { kind: "conflict", holder: "a" })
        .beginClaim("w")
        .end("ok", { granted: [tale.lease("a", 1, { runAt: NOON + 2 })] });
      tale
        .start("w", "a", 1, "same")
        .complete("w", "a", 1)
        .wait(61_000)
        .insert("d", { key: "k" })
        .claim("w", ["d", 1])
        .complete("w", "d", 1);
      return tale.dump(["a", "completed", { key: "k", print: "same" }], ["d", "completed", { key: "k" }]);
    },
  ],
  [
    "a key passes on when its job is removed",
    (tale) =>
      tale
        .insert("a", { key: "k" })
        .claim("w", ["a", 1])
        .complete("w", "a", 1)
        .remove("a", "completed")
        .insert("b", { key: "k" })
        .claim("w", ["b", 1])
        .complete("w", "b", 1)
        .dump(["b", "completed", { key: "k" }]),
  ],
  [
    "jobs are pruned by age and by number",
    (tale) => {
      const rule = { queue: "q", ageMs: 60_000, count: 1, keepAtLeastMs: 10_000 };
      tale.insert("a").insert("b").claim("w", ["a", 1], ["b", 1]).complete("w", "a", 1).complete("w", "b", 1).wait(20_000);
      return tale.call("prune", { rules: [rule] }, "ok", { removed: 1 }).dump(["b", "completed"]);
    },
  ],
  [
    "a prune that an engine sent twice says that it removed nothing",
    (tale) => {
      const rule = { queue: "q", ageMs: 5_000, count: 1_000, keepAtLeastMs: 1_000 };
      tale.insert("a").claim("w", ["a", 1]).complete("w", "a", 1).wait(20_000);
      return tale.call("prune", { rules: [rule] }, "ok", { removed: 0 }).dump();
    },
  ],
  [
    "a prune that nobody heard of took a job",
    (tale) => {
      const rule = { queue: "q", ageMs: 5_000, count: 1_000, keepAtLeastMs: 1_000 };
      tale
        .insert("a")
        .claim("w", ["a", 1])
        .complete("w", "a", 1)
        .begin("prune", { rules: [rule] });
      return tale.wait(20_000).dump();
    },
  ],
  [
    "two processes take one tick, one is told that it is too late, and a third never learns",
    (tale) => {
      const timing = { kind: "cron", cron: "*/10 * * * * *", timeZone: "Europe/Berlin" } as const;
      const made = (job: string) => ({ schedule: "s", version: 1, tick: NOON + 10_000, made: sentJob(job) });
      tale.call(
        "put-schedule",
        { schedule: "s", timing, catchUp: "one", overlap: "allow", paused: false, nextTick: NOON + 10_000 },
        "ok",
        {},
      );
      tale
        .wait(10_000)
        .call("tick", made("a"), "ok", { answer: "ticked" })
        .call("tick", made("b"), "fail", { answer: "stale" }, "p2")
        .begin("tick", made("c"), "p3");
      tale.claim("w", ["a", 1]).complete("w", "a", 1);
      return tale.see("stored-schedule", { schedule: "s", lastTick: NOON + 10_000, lastJob: "a" }).dump(["a", "completed"]);
    },
  ],
  [
    "a job is claimed while its queue may have been resumed",
    (tale) => {
      tale.insert("a").configure("q", { paused: true }).configure("q", { paused: false }, "unknown");
      return tale.claim("w", ["a", 1]).complete("w", "a", 1).dump(["a", "completed"]);
    },
  ],
  [
    "a higher priority comes while the claim is under way",
    (tale) => {
      const claim = tale.insert("a").beginClaim("w");
      tale.insert("b", { priority: 10 });
      claim.end("ok", { granted: [tale.lease("a", 1, { runAt: NOON + 2 })] });
      tale.start("w", "a", 1).complete("w", "a", 1).claim("w", ["b", 1]).complete("w", "b", 1);
      return tale.dump(["a", "completed"], ["b", "completed", { priority: 10 }]);
    },
  ],
  [
    "a worker does not take a higher priority whose type it does not handle",
    (tale) => {
      const claim = tale
        .insert("a")
        .insert("b", { priority: 10, type: "u" })
        .beginClaim("w", { types: ["t"] });
      claim.end("ok", { granted: [tale.lease("a", 1, { runAt: NOON + 2 })] });
      tale.start("w", "a", 1).complete("w", "a", 1).claim("x", ["b", 1]).complete("x", "b", 1);
      return tale.dump(["a", "completed"], ["b", "completed", { priority: 10, type: "u" }]);
    },
  ],
  [
    "a retry fits into a queue that is full",
    (tale) => {
      tale.configure("q", { capacity: 1 }).insert("a").claim("w", ["a", 1]).insert("b").fail("w", "a", 1).wait(1_000);
      tale
        .claim("w", ["b", 1])
        .complete("w", "b", 1)
        .claim("w", ["a", 2, again(tale)])
        .complete("w", "a", 2);
      return tale.dump(["a", "completed", { attempt: 2 }], ["b", "completed"]);
    },
  ],
  [
    "a stopping worker asks again for what it may have been granted, and gives it back",
    (tale) => {
      tale.up("w").insert("a").beginClaim("w", { turn: 3 }).end("unknown", {});
      const lease = tale.lease("a", 1, { runAt: NOON + 3, startedAt: NOON + 5, leaseUntil: NOON + 20_000 });
      tale
        .see("stopping", { worker: "w", graceMs: 1_000 }, "w")
        .beginClaim("w", { turn: 3, again: true })
        .end("ok", { granted: [lease] });
      tale.settle("w", "a", 1, { outcome: "release", to: "pending" }).see("stopped", { worker: "w" }, "w");
      return tale
        .claim("x", ["a", 3, { attempt: 1, retryCount: 0 }])
        .complete("x", "a", 3)
        .dump(["a", "completed", { fence: 3 }]);
    },
  ],
  [
    "a worker of all queues of a kind is told to stop while it asks which there are",
    (tale) => {
      tale.up("w", { asksForQueues: true }).insert("a").see("stopping", { worker: "w", graceMs: 1_000 }, "w");
      tale.beginClaim("w").end("ok", { granted: [tale.lease("a", 1, { runAt: tale.dueAt("a") })] });
      tale.settle("w", "a", 1, { outcome: "release", to: "pending" }).see("stopped", { worker: "w" }, "w");
      return tale
        .claim("x", ["a", 3, { attempt: 1, retryCount: 0 }])
        .complete("x", "a", 3)
        .dump(["a", "completed", { fence: 3 }]);
    },
  ],
  [
    "a killed worker holds its slot no longer, nor is it blamed for what it left",
    (tale) => {
      tale
        .up("w", { slots: 1 })
        .insert("a")
        .claim("w", ["a", 1])
        .see("stopping", { worker: "w", graceMs: 1_000 }, "w")
        .see("fault", { what: "crash", who: "w" });
      tale
        .wait(11_000)
        .lose("a", 1)
        .wait(2_000)
        .claim("x", ["a", 3, afterLoss(tale)])
        .complete("x", "a", 3);
      return tale.dump(["a", "completed", { attempt: 2, fence: 3, attempts: lostThenDone }]);
    },
  ],
  [
    "a job that is due next year, and one in a paused queue, still wait in calm times",
    (tale) => {
      tale.insert("a", { delayMs: 1e10 }).configure("q", { paused: true }).insert("b").see("calm", { boundMs: 1_000 }).wait(5_000);
      const settings = {
        capacity: null,
        headStartMs: 2 ** 43,
        deadLetters: true,
        retention: { ageMs: 1, count: 1, keepAtLeastMs: 1 },
        facets: null,
        defaults: null,
        limits: null,
      };
      tale.see("stored-queue", { queue: "q", paused: true, settings, counts: { scheduled: 1, pending: 1 }, totals: { enqueued: 2 } });
      return tale.dump(["a", "scheduled", { attempt: 0, runAt: NOON + 1e10 }], ["b", "pending", { attempt: 0, runAt: NOON }]);
    },
  ],
];
