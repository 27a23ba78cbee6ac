import { describe, expect, test, vi } from "vitest";
import { Floors } from "../../../../src/store/postgres/floors.ts";

describe("floors", () => {
  test("are not used while looks from the bottom are fast: the order is exact", () => {
    const floors = new Floors();
    for (const wasSlow of [false, true, false, true]) {
      floors.looked(wasSlow);
      floors.claimed(1, 5_000, null);
      expect(floors.next()).toBeNull();
    }
  });

  test("begin a little below what was claimed last, once two looks in a row were slow", () => {
    const floors = new Floors();
    floors.looked(true);
    floors.looked(true);
    expect(floors.next()).toBeNull(); // nothing is known yet
    floors.claimed(1, 5_000, null);
    floors.claimed(2, 7_000, null);
    const used = floors.next();
    expect(used).toEqual({ lanes: [1, 2], floors: [4_900, 6_900] });
    floors.claimed(1, 4_950, used); // from a claim that began above the floor and met one that came late: it does not lower it
    expect(floors.next()).toEqual(used);
  });

  test("are left out once a second, and for good when the bottom is fast again", () => {
    const time = vi.spyOn(performance, "now").mockReturnValue(10_000);
    const floors = new Floors();
    floors.looked(true);
    floors.looked(true);
    floors.claimed(1, 5_000, null);
    expect(floors.next()).toBeNull(); // the first look of this second
    expect(floors.next()).not.toBeNull();
    time.mockReturnValue(11_000);
    expect(floors.next()).toBeNull();
    floors.looked(false);
    floors.claimed(1, 6_000, null);
    expect(floors.next()).toBeNull();
  });

  test("come down to the old jobs that a look from the bottom finds, and are not raised past them by a claim that began above", () => {
    vi.spyOn(performance, "now").mockReturnValue(10_000);
    const floors = new Floors();
    floors.looked(true);
    floors.looked(true);
    floors.next();
    floors.claimed(1, 5_000, null);
    const above = floors.next();
    floors.claimed(1, 1_000, null); // from the bottom: there are old ones
    floors.claimed(1, 6_000, above);
    const used = floors.next();
    expect(used).toEqual({ lanes: [1], floors: [900] });
    floors.claimed(1, 1_001, used);
    expect(floors.next()).toEqual({ lanes: [1], floors: [901] });
  });

  test("are forgotten when this process put a job back", () => {
    const floors = new Floors();
    floors.looked(true);
    floors.looked(true);
    floors.next();
    floors.claimed(1, 5_000, null);
    floors.reset();
    expect(floors.next()).toBeNull();
  });
});
