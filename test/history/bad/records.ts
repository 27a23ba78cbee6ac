import { NOON, sentJob, type Tale } from "../tale.ts";
import { type BadHistory, ran } from "./bad-history.ts";

/** Histories that are wrong about keys, ticks, dead letters and counters. */
export const records: readonly BadHistory[] = [
  [
    "I12",
    "two jobs are created under one living key",
    (tale) =>
      ran(ran(tale.insert("a", { key: "k" }).insert("b", { key: "k" }), "c"), "d")
        .change("cancel", "a", "pending")
        .change("cancel", "b", "pending")
        .dump(
          ["a", "cancelled", { attempt: 0, key: "k" }],
          ["b", "cancelled", { attempt: 0, key: "k" }],
          ["c", "completed"],
          ["d", "completed"],
        ),
  ],
  [
    "I12",
    "a key is free before its time is over",
    (tale) => {
      tale.insert("a", { key: "k" }).claim("w", ["a", 1]).complete("w", "a", 1).wait(59_000);
      tale.insert("b", { key: "k" }).claim("w", ["b", 1]).complete("w", "b", 1);
      return tale.dump(["a", "completed", { key: "k" }], ["b", "completed", { key: "k" }]);
    },
  ],
  [
    "I12",
    "a key belongs to a job that was refused",
    (tale) =>
      tale.insert("a", { key: "k" }, "fail", { kind: "full" }).insert("b", { key: "k" }, "fail", { kind: "known", holder: "a" }).dump(),
  ],
  [
    "I12",
    "another request is answered with the job of a key",
    (tale) => {
      tale.insert("a", { key: "k" }).insert("b", { key: "k" }, "fail", { kind: "known", holder: "a" });
      return tale
        .claim("w", ["a", 1])
        .complete("w", "a", 1)
        .dump(["a", "completed", { key: "k" }]);
    },
  ],
  [
    "I12",
    "two jobs are stored with one living key",
    (tale) =>
      tale
        .insert("a", { key: "k" })
        .insert("b", { key: "k" }, "unknown")
        .dump(["a", "pending", { attempt: 0, key: "k" }], ["b", "pending", { attempt: 0, key: "k" }]),
  ],
  [
    "I13",
    "a tick makes two jobs",
    (tale) =>
      ticking(tale)
        .call("tick", tickOf("a", NOON), "ok", { answer: "ticked" })
        .call("tick", tickOf("b", NOON), "ok", { answer: "ticked" })
        .dump(["a", "pending", { attempt: 0 }], ["b", "pending", { attempt: 0 }]),
  ],
  [
    "I13",
    "a job is made for a tick that the schedule does not have",
    (tale) =>
      ticking(tale)
        .call("tick", tickOf("a", NOON + 4_321), "ok", { answer: "ticked" })
        .dump(["a", "pending", { attempt: 0 }]),
  ],
  ["I13", "in calm times a tick is left out", (tale) => ticking(tale).see("calm", { boundMs: 600_000 }).wait(60_000).dump()],
  [
    "I13",
    "the last tick goes back",
    (tale) => {
      ticking(tale).call("tick", tickOf("a", NOON + 10_000), "ok", { answer: "ticked" });
      return tale.see("stored-schedule", { schedule: "s", lastTick: NOON, lastJob: "a" }).dump(["a", "pending", { attempt: 0 }]);
    },
  ],
  [
    "I14",
    "a job that died is nowhere",
    (tale) =>
      tale
        .insert("a")
        .claim("w", ["a", 1])
        .die("w", "a", 1)
        .change("cancel", "a", "dead", "fail")
        .call("prune", { rules: [{ queue: "q", ageMs: 0, count: 0, keepAtLeastMs: 0 }] }, "ok", { removed: 1 })
        .dump(),
    ["I1"],
  ],
  [
    "I14",
    "a job is found dead twice and died once",
    (tale) => {
      tale.insert("a").claim("w", ["a", 1]).die("w", "a", 1).change("retry", "a", "dead").change("retry", "a", "dead");
      return tale
        .claim("w", ["a", 2, { retryCount: 0, runAt: tale.engine }])
        .complete("w", "a", 2)
        .dump(["a", "completed", { attempt: 2 }]);
    },
  ],
  [
    "I15",
    "a tally is not what there is",
    (tale) => withQueue(ran(tale), { completed: 2 }, { enqueued: 1, completed: 1 }).dump(["a", "completed"]),
  ],
  [
    "I15",
    "a total is not what was done",
    (tale) => withQueue(ran(tale), { completed: 1 }, { enqueued: 1, completed: 3 }).dump(["a", "completed"]),
  ],
  [
    "I15",
    "a total falls",
    (tale) =>
      tale
        .see("totals", { queue: "q", counts: { lost: 3 } })
        .see("totals", { queue: "q", counts: { lost: 2 } })
        .dump(),
  ],
];

function ticking(tale: Tale): Tale {
  const timing = { kind: "every", everyMs: 10_000 } as const;
  return tale.call("put-schedule", { schedule: "s", timing, catchUp: "one", overlap: "allow", paused: false, nextTick: NOON }, "ok", {});
}

function tickOf(job: string, tick: number) {
  return { schedule: "s", version: 1, tick, made: sentJob(job) };
}

function withQueue(tale: Tale, counts: object, totals: object): Tale {
  const retention = { ageMs: 0, count: 0, keepAtLeastMs: 0 };
  return tale.see("stored-queue", {
    queue: "q",
    paused: false,
    settings: { capacity: null, headStartMs: 0, deadLetters: true, facets: null, defaults: null, limits: null, retention },
    counts,
    totals,
  });
}
