import { describe, expect, test, vi } from "vitest";
import { Floors } from "../../../../src/store/postgres/floors.ts";

describe("floors", () => {
  test("are not used while looks from the bottom are fast: the order is exact", () => {
    const floors = new Floors();
    for (const wasSlow of [false, true, false, true]) {
      floors.looked(wasSlow);
      floors.claimed(1, 5_000);
      expect(floors.next()).toBeNull();
    }
  });

  test("begin a little below what was claimed last, once two looks in a row were slow", () => {
    const floors = new Floors();
    floors.looked(true);
    floors.looked(true);
    expect(floors.next()).toBeNull(); // nothing is known yet
    floors.claimed(1, 5_000);
    floors.claimed(2, 7_000);
    floors.claimed(1, 4_000); // came late, and does not lower it
    expect(floors.next()).toEqual({ lanes: [1, 2], floors: [4_900, 6_900] });
  });

  test("are left out once a second, and for good when the bottom is fast again", () => {
    const time = vi.spyOn(performance, "now").mockReturnValue(10_000);
    const floors = new Floors();
    floors.looked(true);
    floors.looked(true);
    floors.claimed(1, 5_000);
    expect(floors.next()).toBeNull(); // the first look of this second
    expect(floors.next()).not.toBeNull();
    time.mockReturnValue(11_000);
    expect(floors.next()).toBeNull();
    floors.looked(false);
    floors.claimed(1, 6_000);
    expect(floors.next()).toBeNull();
  });

  test("are forgotten when this process put a job back", () => {
    const floors = new Floors();
    floors.looked(true);
    floors.looked(true);
    floors.next();
    floors.claimed(1, 5_000);
    floors.reset();
    expect(floors.next()).toBeNull();
  });
});
