import { expect, test } from "vitest";
import { soak } from "./run.ts";
import { GAUGE_NAMES } from "./verdict.ts";

test("a server and a worker under load tell what they hold, with users who read badly, and end well", { timeout: 120_000 }, async () => {
  const { samples, counts, ended } = await soak({ engine: "sqlite", minutes: 0.2, rate: 40, sampleEveryMs: 3_000 });
  expect(samples).toHaveLength(4);
  const told = process.platform === "linux" ? GAUGE_NAMES : GAUGE_NAMES.filter((gauge) => !gauge.endsWith("descriptors"));
  for (const { held } of samples) {
    expect(Object.keys(held)).toEqual(told);
    for (const value of Object.values(held)) expect(value).toBeGreaterThan(0);
  }
  expect(counts.enqueued).toBeGreaterThan(0);
  expect(counts.pages).toBeGreaterThan(0);
  expect(counts.reconnects).toBeGreaterThan(0);
  // Jobs of all kinds.
  for (const number of Object.values(ended)) expect(number).toBeGreaterThan(0);
});
