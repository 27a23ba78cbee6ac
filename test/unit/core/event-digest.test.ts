import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/core/event.ts";
import { EventDigest, MAX_SINGLES } from "../../../src/core/event-digest.ts";

const AT = 1_900_000_000_000;

function events(count: number, queue = "mail", event: "job:cancelled" | "job:retried" = "job:cancelled"): Event[] {
  return Array.from({ length: count }, (_, index) => ({ event, at: index, jobId: String(index), type: "t", queue }));
}

describe("a digest of events", () => {
  test("hands on what a reader can follow, as it is", () => {
    const digest = new EventDigest();
    const some = events(MAX_SINGLES);
    expect(digest.take(some, 0, AT)).toEqual(some);
    expect(digest.hasSums).toBe(false);
    expect(digest.take(events(5), 1000, AT)).toHaveLength(5);
    expect(digest.sums(AT)).toEqual([]);
  });

  test("sums up what is beyond, by kind and queue, and says how many are not told", () => {
    const digest = new EventDigest();
    expect(digest.take(events(MAX_SINGLES + 20), 0, AT)).toHaveLength(MAX_SINGLES);
    expect(digest.take([...events(2, "other"), ...events(3, "mail", "job:retried"), ...events(1)], 10, AT)).toEqual([]);
    expect(digest.hasSums).toBe(true);
    expect(digest.sums(AT)).toEqual([
      { event: "gap", at: AT, missed: 26 },
      {
        event: "counts",
        at: AT,
        counts: [
          { event: "job:cancelled", queue: "mail", count: 21 },
          { event: "job:cancelled", queue: "other", count: 2 },
          { event: "job:retried", queue: "mail", count: 3 },
        ],
      },
    ]);
    expect(digest.hasSums).toBe(false);
  });

  test("tells one by one again after a second that was calm, and first what was summed up before", () => {
    const digest = new EventDigest();
    digest.take(events(MAX_SINGLES * 3), 0, AT);
    digest.sums(AT);
    // The second after one that was busy is not told one by one, however calm it is.
    expect(digest.take(events(2), 1000, AT)).toEqual([]);
    expect(digest.take(events(1), 2000, AT)).toEqual([
      { event: "gap", at: AT, missed: 2 },
      { event: "counts", at: AT, counts: [{ event: "job:cancelled", queue: "mail", count: 2 }] },
      ...events(1),
    ]);
  });

  test("is calm at once after a pause", () => {
    const digest = new EventDigest();
    digest.take(events(MAX_SINGLES * 2), 0, AT);
    digest.sums(AT);
    expect(digest.take(events(1), 5000, AT)).toEqual(events(1));
  });

  test("adds up sums of others, whose events nobody counts twice", () => {
    const digest = new EventDigest();
    const sums: Event[] = [
      { event: "gap", at: 1, missed: 500 },
      { event: "counts", at: 1, counts: [{ event: "job:cancelled", queue: "mail", count: 500 }] },
    ];
    expect(digest.take(sums, 0, AT)).toEqual(sums);
    digest.take(events(MAX_SINGLES + 1), 0, AT);
    expect(digest.take(sums, 1, AT)).toEqual([]);
    expect(digest.sums(AT)).toMatchObject([{ missed: 501 }, { counts: [{ queue: "mail", count: 501 }] }]);
  });

  test("stays small however many queues there are", () => {
    const digest = new EventDigest();
    digest.take(events(MAX_SINGLES), 0, AT);
    for (let queue = 0; queue < 5000; queue++) digest.take(events(2, `queue-${queue}`), 1, AT);
    const [gap, counts] = digest.sums(AT);
    expect(gap).toMatchObject({ missed: 10_000 });
    expect(counts).toMatchObject({ event: "counts" });
    expect((counts as Extract<Event, { event: "counts" }>).counts).toHaveLength(1000);
  });
});
