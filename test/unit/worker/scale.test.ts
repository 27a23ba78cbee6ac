import { describe, expect, test } from "vitest";
import { Scale, SHRINK_AFTER_MS } from "../../../src/worker/scale.ts";

describe("how many slots", () => {
  test("they double while claims come back full and all are busy, up to the most", () => {
    const scale = new Scale(2, 10, 0);
    const seen = [2, 4, 8, 10, 10].map((running) => {
      scale.claimed(true, running);
      return scale.slots;
    });
    expect(seen).toEqual([4, 8, 10, 10, 10]);
  });

  test("they stay while a claim leaves some free, or finds nothing more", () => {
    const scale = new Scale(4, 10, 0);
    scale.claimed(true, 3);
    scale.claimed(false, 4);
    expect(scale.slots).toBe(4);
  });

  test("after two minutes only those stay that were of use at once", () => {
    const scale = new Scale(2, 50, 0);
    for (const running of [2, 4, 8, 16]) scale.claimed(true, running);
    expect(scale.slots).toBe(32);
    scale.look(0, SHRINK_AFTER_MS - 1);
    expect(scale.slots).toBe(32);
    scale.look(0, SHRINK_AFTER_MS);
    expect(scale.slots).toBe(16);
    scale.claimed(false, 5);
    scale.look(1, 2 * SHRINK_AFTER_MS);
    expect(scale.slots).toBe(5);
    scale.look(0, 3 * SHRINK_AFTER_MS);
    scale.look(0, 4 * SHRINK_AFTER_MS);
    expect(scale.slots).toBe(2);
  });

  test("a fixed number stays fixed", () => {
    const scale = new Scale(5, 5, 0);
    scale.claimed(true, 5);
    scale.look(0, SHRINK_AFTER_MS);
    expect(scale.slots).toBe(5);
  });
});
