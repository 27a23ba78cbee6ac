import { describe, expect, test } from "vitest";
import { type Finding, findings, type Situation } from "../../../src/core/attention.ts";

const NOW = Date.UTC(2030, 0, 1);
const MINUTE_MS = 60_000;
type Worker = Situation["workers"][number];
type Queue = Situation["queues"][number];

function worker(changes: Partial<Worker> = {}): Worker {
  const entry = { id: "w-1", host: "h", pid: 1, state: "idle", slots: 2, queues: ["default"], types: ["mail"], startedAt: NOW } as const;
  return { ...entry, running: [], runningCount: 0, processed: 0, perMinute: 0, abandoned: 0, heartbeatAt: NOW, ...changes };
}

function queue(changes: Partial<Queue> = {}): Queue {
  return { name: "default", paused: false, capacity: null, waiting: 0, pending: 0, dead: 0, ...changes };
}

const lane = (type: string, waitedMs = 0, name = "default"): Situation["lanes"][number] => ({ queue: name, type, runAt: NOW - waitedMs });

/** The workers that every server brings. */
const OWN = [
  worker({ id: "requests", queues: ["*"], types: ["http:request"] }),
  worker({ id: "deliveries", queues: ["*~webhooks"], types: ["millrace:webhook"], abandoned: 1, heartbeatAt: 0 }),
  worker({ id: "bulk", queues: ["~bulk"], types: ["millrace:bulk"] }),
];

function find(situation: Partial<Situation>): Finding[] {
  const { lanes = [], queues = [queue({ pending: lanes.length, waiting: lanes.length })] } = situation;
  return findings({
    now: NOW,
    workers: [],
    failedToday: 0,
    muted: 0,
    deadDeliveries: 0,
    failedFlows: 0,
    limited: new Set(),
    ...situation,
    lanes,
    queues,
  });
}

const codes = (situation: Partial<Situation>): string[] =>
  find(situation).map(({ code, type }) => (type === null ? code : `${code} ${type}`));

test("nothing is found where nothing is wrong", () => {
  expect(find({})).toEqual([]);
  expect(find({ lanes: [lane("mail")], workers: [worker(), ...OWN] })).toEqual([]);
});

test("flows that failed wait until somebody retries or deletes them", () => {
  expect(find({ failedFlows: 1 })).toMatchObject([
    {
      code: "failed_flows",
      severity: "warning",
      message: "1 flow failed",
      hint: "not all of its members completed; retry or delete it",
      count: 1,
    },
  ]);
  expect(find({ failedFlows: 1200 })).toMatchObject([{ message: "1,200 flows failed", count: 1200 }]);
});

describe("types without a worker", () => {
  test("workers that servers bring are no workers to jobs that they do not take", () => {
    expect(codes({ lanes: [lane("mail")], workers: OWN })).toEqual(["no_workers"]);
    expect(codes({ lanes: [lane("mail")] })).toEqual(["no_workers"]);
    expect(codes({ lanes: [lane("mail")], workers: [...OWN, worker()] })).toEqual([]);
  });

  test("without any worker of users, types are counted: servers may take other jobs of the same queue", () => {
    const lanes = [lane("mail"), lane("mail", 0, "other"), lane("report"), lane("http:request")];
    const queues = [queue({ pending: 500 }), queue({ name: "other", pending: 3 })];
    expect(find({ lanes, queues, workers: OWN })).toMatchObject([
      { code: "no_workers", message: "No worker is running, and jobs of 2 types are pending", count: 2 },
    ]);
  });

  test("requests need no other worker than those that servers bring", () => {
    expect(codes({ lanes: [lane("http:request")], workers: OWN })).toEqual([]);
    expect(codes({ lanes: [lane("http:request")], workers: [...OWN, worker()] })).toEqual([]);
    expect(codes({ lanes: [lane("http:request")], workers: [worker()] })).toEqual(["no_worker http:request"]);
  });

  test("a worker of all queues, or of all types, takes what it names", () => {
    const lanes = [lane("mail"), lane("other")];
    expect(codes({ lanes, workers: [worker({ queues: ["*"] })] })).toEqual(["no_worker other"]);
    expect(codes({ lanes, workers: [worker({ types: "*" })] })).toEqual([]);
  });

  test("a worker that is shutting down, or gave up all its slots, takes none", () => {
    const busy = worker({ id: "w-2", types: ["other"] });
    expect(codes({ lanes: [lane("mail")], workers: [worker({ state: "stopping" }), busy] })).toEqual(["no_worker mail"]);
    expect(codes({ lanes: [lane("mail")], workers: [worker({ abandoned: 2 }), busy] })).toEqual(["no_worker mail", "handlers_abandoned"]);
  });

  test("workers that handle the type in other queues only are named, with their queues", () => {
    const queues = [queue({ name: "letters", pending: 1 })];
    expect(find({ lanes: [lane("mail", 5000, "letters")], queues, workers: [worker()] })).toMatchObject([
      { code: "no_worker", hint: "worker w-1 handles mail, but serves only: default; its oldest job has waited for 5 s" },
    ]);
  });

  test("the one that has waited longest comes first, and says for how long", () => {
    const lanes = [lane("a", 5000), lane("b", 65_000)];
    expect(find({ lanes, workers: [worker()] }).map(({ type, hint }) => [type, hint])).toEqual([
      ["b", "its oldest job has waited for 1 m 5 s"],
      ["a", "its oldest job has waited for 5 s"],
    ]);
  });

  test("a paused queue, and what waits in queues of our own, is no such case", () => {
    expect(find({ lanes: [lane("mail")], queues: [queue({ paused: true, pending: 1, waiting: 9 })] })).toMatchObject([
      { code: "queue_paused", hint: "1 job is pending in it", count: 1 },
    ]);
    expect(codes({ lanes: [lane("millrace:webhook", 0, "mail~webhooks")], queues: [queue()] })).toEqual([]);
  });
});

describe("queues", () => {
  test.each([
    [89, []],
    [90, ["queue_nearly_full"]],
    [99, ["queue_nearly_full"]],
    [100, ["queue_full"]],
    [101, ["queue_full"]],
  ])("with %d of 100 places taken", (waiting, wanted) => {
    expect(codes({ queues: [queue({ capacity: 100, waiting })] })).toEqual(wanted);
  });

  test("are behind when their oldest job that a worker takes has waited for five minutes", () => {
    const workers = [worker()];
    expect(codes({ lanes: [lane("mail", 5 * MINUTE_MS - 1)], workers })).toEqual([]);
    expect(find({ lanes: [lane("mail", 5 * MINUTE_MS)], workers })).toMatchObject([
      {
        code: "queue_behind",
        severity: "warning",
        message: "default is behind: its oldest job has waited for 5 m",
        queue: "default",
        count: 1,
      },
    ]);
    expect(codes({ lanes: [lane("other", 9 * MINUTE_MS)], workers })).toEqual(["no_worker other"]);
    expect(codes({ lanes: [lane("mail", 9 * MINUTE_MS)], workers, queues: [queue({ paused: true })] })).toEqual(["queue_paused"]);
  });

  test("are not behind while their jobs wait for a limit", () => {
    const lanes = [lane("mail", 5 * MINUTE_MS)];
    expect(codes({ lanes, workers: [worker()], limited: new Set(["default"]) })).toEqual([]);
    expect(codes({ lanes, workers: [worker()], limited: new Set(["other"]) })).toEqual(["queue_behind"]);
    expect(codes({ lanes: [lane("other", 5 * MINUTE_MS)], workers: [worker()], limited: new Set(["default"]) })).toEqual([
      "no_worker other",
    ]);
  });
});

test.each([
  [1, 0, "1 dead job needs review", "warning"],
  [2, 3, "2 dead jobs need review", "bad"],
])("%d dead, %d of today: the verb fits the number", (dead, failedToday, message, severity) => {
  expect(find({ queues: [queue({ dead })], failedToday })).toMatchObject([{ code: "dead_jobs", message, severity, count: dead }]);
});

test("silent workers and abandoned handlers are counted, without those of servers", () => {
  const silent = worker({ heartbeatAt: NOW - 10_001 });
  expect(find({ workers: [silent, ...OWN] })).toMatchObject([{ code: "worker_silent", message: "Worker w-1 on h is silent", count: 1 }]);
  expect(find({ workers: [silent, { ...silent, id: "w-2" }] })).toMatchObject([{ message: "2 workers are silent", count: 2 }]);
  expect(codes({ workers: [worker({ heartbeatAt: NOW - 10_000 })] })).toEqual([]);
  expect(find({ workers: [worker({ abandoned: 1 }), ...OWN] })).toMatchObject([{ code: "handlers_abandoned", count: 1 }]);
});

test("the worst comes first", () => {
  const queues = [queue({ paused: true }), queue({ name: "full", capacity: 1, waiting: 1 }), queue({ name: "dead", dead: 1 })];
  expect(codes({ queues })).toEqual(["queue_full", "dead_jobs", "queue_paused"]);
});

test("many types without a worker are not all named, but counted", () => {
  const lanes = Array.from({ length: 80 }, (_, index) => lane(`t${index}`));
  const found = find({ lanes, workers: [worker()] });
  expect(found).toHaveLength(51);
  expect(found.at(-1)).toMatchObject({ code: "no_worker", message: "No live worker handles 30 more types", type: null, count: 30 });
  expect(find({ lanes: lanes.slice(0, 50), workers: [worker()] }).map(({ count }) => count)).toEqual(lanes.slice(0, 50).map(() => 1));
});

test("dead jobs with a muted error need no review, but are told of", () => {
  expect(find({ queues: [queue({ dead: 3 })], muted: 3 })).toEqual([]);
  expect(find({ queues: [queue({ dead: 3 })], muted: 1, failedToday: 0 })).toMatchObject([
    {
      code: "dead_jobs",
      severity: "warning",
      message: "2 dead jobs need review",
      hint: "none failed since midnight UTC; 1 more has a muted error",
      count: 2,
    },
  ]);
});
