import { describe, expect, test, vi } from "vitest";
import { LaneStarts, NoticeStart } from "../../../../src/store/postgres/read-starts.ts";

describe("where claims begin to read", () => {
  test("are not used while looks from the bottom are fast: the order is exact", () => {
    const starts = new LaneStarts();
    for (const wasSlow of [false, true, false, true]) {
      starts.looked(wasSlow);
      starts.claimed(1, 5_000, null);
      expect(starts.next()).toBeNull();
    }
  });

  test("begin a little below what was claimed last, once two looks in a row were slow", () => {
    const starts = new LaneStarts();
    starts.looked(true);
    starts.looked(true);
    expect(starts.next()).toBeNull(); // nothing is known yet
    starts.claimed(1, 5_000, null);
    starts.claimed(2, 7_000, null);
    const used = starts.next();
    expect(used).toEqual({ lanes: [1, 2], floors: [4_900, 6_900] });
    starts.claimed(1, 4_950, used); // from a claim that began above the floor and met one that came late: it does not lower it
    expect(starts.next()).toEqual(used);
  });

  test("are left out once a second, and for good when the bottom is fast again", () => {
    const time = vi.spyOn(performance, "now").mockReturnValue(10_000);
    const starts = new LaneStarts();
    starts.looked(true);
    starts.looked(true);
    starts.claimed(1, 5_000, null);
    expect(starts.next()).toBeNull(); // the first look of this second
    expect(starts.next()).not.toBeNull();
    time.mockReturnValue(11_000);
    expect(starts.next()).toBeNull();
    starts.looked(false);
    starts.claimed(1, 6_000, null);
    expect(starts.next()).toBeNull();
  });

  test("come down to the old jobs that a look from the bottom finds, and are not raised past them by a claim that began above", () => {
    vi.spyOn(performance, "now").mockReturnValue(10_000);
    const starts = new LaneStarts();
    starts.looked(true);
    starts.looked(true);
    starts.next();
    starts.claimed(1, 5_000, null);
    const above = starts.next();
    starts.claimed(1, 1_000, null); // from the bottom: there are old ones
    starts.claimed(1, 6_000, above);
    const used = starts.next();
    expect(used).toEqual({ lanes: [1], floors: [900] });
    starts.claimed(1, 1_001, used);
    expect(starts.next()).toEqual({ lanes: [1], floors: [901] });
  });

  test("are forgotten when this process put a job back", () => {
    const starts = new LaneStarts();
    starts.looked(true);
    starts.looked(true);
    starts.next();
    starts.claimed(1, 5_000, null);
    starts.reset();
    expect(starts.next()).toBeNull();
  });
});

describe("where looks at notices begin", () => {
  const SLOW = 25;

  test("at the bottom while looks are fast", () => {
    const start = new NoticeStart();
    start.looked(null, SLOW, [1, 2], []);
    start.looked(null, 1, [1, 2], []);
    start.looked(null, SLOW, [1, 2], []);
    expect(start.next()).toBeNull();
  });

  test("once two looks in a row were slow, a little below the first notice that is known and not dropped", () => {
    const start = new NoticeStart();
    start.looked(null, SLOW, [50_005, 50_006], []);
    start.looked(null, SLOW, [50_007, 50_008, 50_009], [50_005]);
    expect(start.next()).toBe(49_004);
    start.dropped([50_005, 50_008, 50_009]);
    expect(start.next()).toBe(49_006);
    start.dropped([50_007]);
    expect(start.next()).toBe(49_009);
    start.looked(49_009, 1, [50_011, 50_012], []);
    expect(start.next()).toBe(49_010);
    start.dropped([50_011, 50_012]);
    expect(start.next()).toBe(49_012);
    start.looked(49_012, 1, [49_500], []); // one that was committed late
    start.dropped([49_500]);
    expect(start.next()).toBe(49_012);
  });

  test("at the bottom again after a while, and for good when that is fast", () => {
    const time = vi.spyOn(performance, "now").mockReturnValue(10_000);
    const start = new NoticeStart();
    start.looked(null, SLOW, [5_001], []);
    start.looked(null, 200, [5_001], []);
    time.mockReturnValue(13_999);
    expect(start.next()).toBe(4_000);
    time.mockReturnValue(14_000);
    expect(start.next()).toBeNull();
    start.looked(null, 1, [2, 5_001], []);
    expect(start.next()).toBeNull();
  });
});
