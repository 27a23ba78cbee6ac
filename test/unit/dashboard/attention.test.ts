import { expect, test } from "vitest";
import type { JobSummary } from "../../../src/core/job.ts";
import { findings, type Situation, typesWithoutWorker } from "../../../src/dashboard/attention.ts";

const NOW = Date.UTC(2030, 0, 1);
type Worker = Situation["workers"][number];

function worker(changes: Partial<Worker> = {}): Worker {
  const entry = { id: "w-1", host: "h", pid: 1, state: "idle", slots: 2, queues: ["default"], types: ["mail"], startedAt: NOW } as const;
  return { ...entry, running: [], runningCount: 0, processed: 0, perMinute: 0, abandoned: 0, heartbeatAt: NOW, ...changes };
}

const waiting = (type: string): JobSummary => ({ type, queue: "default" }) as JobSummary;
const OWN = [
  worker({ id: "requests", queues: ["*"], types: ["http:request"] }),
  worker({ id: "deliveries", queues: ["*~webhooks"], types: ["millrace:webhook"], abandoned: 1, heartbeatAt: 0 }),
  worker({ id: "bulk", queues: ["~bulk"], types: ["millrace:bulk"] }),
];

function keysOf(workers: readonly Worker[], pending: readonly JobSummary[]): string[] {
  const stats = { deadCount: 0, counts: { pending: pending.length }, today: { failed: 0 } } as Situation["stats"];
  return findings({ stats, queues: [], workers, pending, now: NOW }).map(({ key }) => key);
}

test("workers that servers bring are no workers to whoever waits for one", () => {
  expect(keysOf(OWN, [waiting("mail")])).toEqual(["no workers"]);
  expect(keysOf([], [waiting("mail")])).toEqual(["no workers"]);
  expect(keysOf([...OWN, worker()], [waiting("mail")])).toEqual([]);
});

test("requests need no other worker than those that servers bring", () => {
  expect(keysOf(OWN, [waiting("http:request")])).toEqual([]);
  expect(keysOf([...OWN, worker()], [waiting("http:request")])).toEqual([]);
  expect(keysOf([worker()], [waiting("http:request")])).toEqual(["unhandled default http:request"]);
});

test("a worker that serves all queues leaves no type of its own alone", () => {
  const pending = [waiting("mail"), waiting("other")];
  expect(typesWithoutWorker({ workers: [worker({ queues: ["*"] })], pending })).toEqual([{ type: "other", queue: "default", jobs: 1 }]);
});

test.each([
  [1, "1 dead letter waits for a decision"],
  [2, "2 dead letters wait for a decision"],
])("%d dead: the verb fits the number", (deadCount, wanted) => {
  const stats = { deadCount, counts: { pending: 0 }, today: { failed: 0 } } as Situation["stats"];
  expect(findings({ stats, queues: [], workers: [], pending: [], now: NOW }).map(({ text }) => text)).toEqual([wanted]);
});
