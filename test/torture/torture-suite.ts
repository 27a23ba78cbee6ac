import { expect, test } from "vitest";
import { torture, type TorturedEngine } from "./run.ts";

/** How long faults come, and by which seed. More of it: `npm run torture`. */
const SECONDS = Number(process.env["MILLRACE_TEST_TORTURE_SECONDS"] ?? 20);
const SEED = Number(process.env["MILLRACE_TEST_SEED"] ?? 1);

/** A short run on one engine: a file for each, so that they run side by side. */
export function tortureSuite(engine: TorturedEngine): void {
  test(
    `processes on ${engine} that are killed, frozen and cut off keep every promise`,
    { timeout: 900_000 + SECONDS * 2_000 },
    async () => {
      const { complaints, withoutEffect, figures, folder } = await torture({ engine, seed: SEED, chaosMs: SECONDS * 1_000, isShort: true });
      const repeat = `npm run torture -- --engine ${engine} --seconds ${SECONDS} --seed ${SEED} --short`;
      expect(complaints, `repeat it: ${repeat}\nhistories: ${folder}`).toEqual([]);
      // A fault counts only if it was seen to take effect.
      expect(withoutEffect).toEqual([]);
      expect(figures.faults.size).toBeGreaterThan(5);
      expect(figures.jobs).toBeGreaterThan(0);
      expect(figures.durable).toBeGreaterThan(0);
      expect(figures.flows).toBeGreaterThan(0);
      // What is promised of healthy workers means something only if there were some.
      expect(figures.health.healthyMs).toBeGreaterThan(0);
    },
  );
}
