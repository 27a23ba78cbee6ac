import { describe, expect, test } from "vitest";
import { Scale, SHRINK_AFTER_MS } from "../../../src/worker/scale.ts";

describe("how many slots", () => {
  test("they double while claims come back full and all are busy, up to the most", () => {
    const scale = new Scale(2, 10);
    const seen = [2, 4, 8, 10, 10].map((running) => {
      scale.claimed(true, running, 0);
      return scale.slots;
    });
    expect(seen).toEqual([4, 8, 10, 10, 10]);
  });

  test("they stay while a claim leaves some free, or finds nothing more", () => {
    const scale = new Scale(4, 10);
    scale.claimed(true, 3, 0);
    scale.claimed(false, 4, 0);
    expect(scale.slots).toBe(4);
  });

  test("two minutes after they were last of use at once they go, whenever that was", () => {
    const scale = new Scale(1, 8);
    for (const running of [1, 2, 4]) scale.claimed(true, running, 1000);
    expect(scale.slots).toBe(8);
    scale.look(8, 70_000);
    for (let now = 71_000; now < 70_000 + SHRINK_AFTER_MS; now += 1000) scale.look(0, now);
    expect(scale.slots).toBe(8);
    scale.look(0, 70_000 + SHRINK_AFTER_MS);
    expect(scale.slots).toBe(1);
  });

  test("as many stay as were of use at once in the last two minutes", () => {
    const scale = new Scale(2, 50);
    for (const running of [2, 4, 8, 16]) scale.claimed(true, running, 0);
    expect(scale.slots).toBe(32);
    scale.look(5, 10_000);
    scale.look(3, 20_000);
    expect(scale.slots).toBe(32);
    scale.look(3, SHRINK_AFTER_MS);
    expect(scale.slots).toBe(5);
    scale.look(0, SHRINK_AFTER_MS + 10_000);
    expect(scale.slots).toBe(3);
    scale.look(0, 2 * SHRINK_AFTER_MS);
    expect(scale.slots).toBe(2);
  });

  test("a fixed number stays fixed", () => {
    const scale = new Scale(5, 5);
    scale.claimed(true, 5, 0);
    scale.look(0, SHRINK_AFTER_MS);
    expect(scale.slots).toBe(5);
  });
});
