import { expect, test } from "vitest";
import { SlotUse } from "../../../src/worker/slot-use.ts";

const MINUTE_MS = 60_000;

test("the use of each minute and hour is exact, whenever it changes and is read", () => {
  const use = new SlotUse(0);
  use.change(0, 4, 0);
  use.change(4, 4, 30_000);
  use.change(1, 4, MINUTE_MS);
  expect(use.read(MINUTE_MS)).toEqual({ minutes: [50, 0], hours: [50] });
  expect(use.read(MINUTE_MS + 1000)).toEqual({ minutes: [50, 25], hours: [50] });
  use.change(0, 4, 3 * MINUTE_MS);
  expect(use.read(4 * MINUTE_MS).minutes).toEqual([50, 25, 25, 0, 0]);
  expect(use.read(4 * MINUTE_MS).hours).toEqual([25]);
});

test("the last 60 minutes and 24 hours are kept, also after a long pause", () => {
  const use = new SlotUse(0);
  use.change(1, 2, 0);
  const { minutes, hours } = use.read(100 * 60 * MINUTE_MS + 1);
  expect([minutes.length, hours.length]).toEqual([60, 24]);
  expect(new Set([...minutes, ...hours])).toEqual(new Set([50]));
});

test("a worker that has just reduced its slots uses no more than all", () => {
  const use = new SlotUse(0);
  use.change(8, 2, 0);
  expect(use.read(1000).minutes).toEqual([100]);
});
