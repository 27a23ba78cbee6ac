import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { Clock } from "../../../../src/lib/clock.ts";
import { Connection } from "../../../../src/store/sqlite/connection.ts";
import { FileTime } from "../../../../src/store/sqlite/file-time.ts";
import { migrate } from "../../../../src/store/sqlite/migrations.ts";
import { temporaryFile } from "./temporary-file.ts";

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

test("a clock that is set forward is followed", () => {
  const wall = { now: 1_000_000 };
  const time = processOn(temporaryFile(), wall, { monotonic: 0 });
  time.take();
  wall.now += 3_600_000;
  expect(time.take()).toBe(4_600_000);
});
