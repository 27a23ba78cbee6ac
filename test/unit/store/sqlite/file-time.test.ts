import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { JOB_DEFAULTS, createJob, readJobOptions } from "../../../../src/core/job-options.ts";
import type { NewJob } from "../../../../src/core/job.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { type Clock, systemClock } from "../../../../src/lib/clock.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { Connection } from "../../../../src/store/sqlite/connection.ts";
import { FileTime } from "../../../../src/store/sqlite/file-time.ts";
import { migrate } from "../../../../src/store/sqlite/migrations.ts";
import { temporaryFile } from "./temporary-file.ts";

function jobOf(): NewJob {
  return createJob(idMaker(() => Date.now())(partitionOf("default")), "task", null, readJobOptions({}, JOB_DEFAULTS, Date.now()));
}

/** A process with a clock of its own on a file that others share. */
function processOn(path: string, wall: { now: number }, started: { monotonic: number }): FileTime {
  const db = new DatabaseSync(path);
  migrate(db);
  const clock: Clock = { now: () => wall.now, monotonic: () => started.monotonic, setTimer: () => ({ cancel: () => {} }) };
  return new FileTime(new Connection(db), clock);
}

test("the time of a file never goes back when the machine's clock is set back, also for a process that starts later", () => {
  const path = temporaryFile();
  const wall = { now: 1_000_000 };
  const monotonic = { monotonic: 0 };
  const first = processOn(path, wall, monotonic);
  expect(first.take()).toBe(1_000_000);
  wall.now -= 3_600_000;
  const second = processOn(path, wall, monotonic);
  expect(second.take()).toBe(1_000_000);
  expect(first.take()).toBe(1_000_000);
});

test("it does not stand still meanwhile either: it goes on by the monotonic clock", () => {
  const path = temporaryFile();
  const wall = { now: 1_000_000 };
  const monotonic = { monotonic: 0 };
  const first = processOn(path, wall, monotonic);
  const second = processOn(path, wall, monotonic);
  first.take();
  second.take();
  wall.now -= 3_600_000;
  monotonic.monotonic += 30_000;
  expect(first.take()).toBe(1_030_000);
  expect(second.peek()).toBe(1_030_000);
});

test("a process whose clock was wrong by more than a day does not poison the file", () => {
  const path = temporaryFile();
  const wall = { now: 1_000_000 };
  const wrong = { now: wall.now + 30 * 86_400_000 };
  processOn(path, wrong, { monotonic: 0 }).take();
  expect(processOn(path, wall, { monotonic: 0 }).take()).toBe(wall.now);
});

test("after a correction of more than a day all processes go by one clock, also those that ran through it", () => {
  const path = temporaryFile();
  const wall = { now: 1_000_000 + 30 * 86_400_000 };
  const monotonic = { monotonic: 0 };
  const old = processOn(path, wall, monotonic);
  old.take();
  wall.now = 1_000_000;
  const young = processOn(path, wall, monotonic);
  const times = [young.take(), old.peek(), old.take(), young.take(), young.peek()];
  expect(times).toEqual([wall.now, wall.now, wall.now, wall.now, wall.now]);
  // It goes on from there as ever, also when the clock is set back again a little.
  wall.now -= 60_000;
  monotonic.monotonic += 5000;
  expect([old.take(), young.take()]).toEqual([1_005_000, 1_005_000]);
});

test("a process that ran through such a correction does not see the fresh leases of others as expired", async () => {
  const path = temporaryFile();
  const wall = { now: Date.now() + 30 * 86_400_000 };
  const clock: Clock = { ...systemClock, now: () => wall.now };
  const old = await openStore(`sqlite:${path}`, { clock });
  await old.insert([jobOf()]);
  wall.now -= 30 * 86_400_000;
  const young = await openStore(`sqlite:${path}`, { clock });
  const claim = { workerId: "w", queues: ["default"], types: "*" as const, limit: 1, leaseMs: 30_000, turn: 1, again: false, local: true };
  const { claimed } = await young.exchange([], [claim]);
  expect(claimed[0]).toHaveLength(1);
  expect([(await old.expired(10)).jobs, (await young.expired(10)).jobs]).toEqual([[], []]);
  await Promise.all([old.close(), young.close()]);
});

test("a clock that is set forward is followed", () => {
  const wall = { now: 1_000_000 };
  const time = processOn(temporaryFile(), wall, { monotonic: 0 });
  time.take();
  wall.now += 3_600_000;
  expect(time.take()).toBe(4_600_000);
});
