import { expect, test } from "vitest";
import { slotsOverTime } from "../../../src/dashboard/slot-use.ts";

const HOUR_MS = 3_600_000;
const NOW = 1000 * HOUR_MS + 5;

test("slots in use are added up over workers, each at the time of its report", () => {
  const live = { slots: 4, heartbeatAt: NOW, use: { minutes: [], hours: [100, 50] } };
  const gone = { slots: 2, heartbeatAt: NOW - 2 * HOUR_MS, use: { minutes: [], hours: [50] } };
  const old = { slots: 9, heartbeatAt: NOW - 30 * HOUR_MS, use: { minutes: [], hours: [100] } };
  const silent = { slots: 3, heartbeatAt: NOW };
  const points = slotsOverTime([live, gone, old, silent], "hour", NOW);
  expect(points).toHaveLength(24);
  expect(points.slice(-3)).toEqual([
    { at: 998 * HOUR_MS, busy: 1, slots: 2 },
    { at: 999 * HOUR_MS, busy: 4, slots: 4 },
    { at: 1000 * HOUR_MS, busy: 2, slots: 4 },
  ]);
  expect(points.slice(0, -3).every(({ slots }) => slots === 0)).toBe(true);
});
