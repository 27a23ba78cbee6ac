import { beforeEach, describe, expect, test } from "vitest";
import type { LeaseRef, LeaseAnswer } from "../../../../src/client/client.ts";
import { VirtualClock } from "../../../../src/testing/virtual-clock.ts";
import { LeaseBook } from "../../../../src/worker/renewal/lease-book.ts";
import { readSharedLeases, SharedLeases } from "../../../../src/worker/renewal/shared-leases.ts";

const LEASE_MS = 30_000;
const away = (): Promise<never> => Promise.reject(new Error("away"));

describe("the leases that a worker holds", () => {
  let clock: VirtualClock;
  let book: LeaseBook;
  let asked: LeaseRef[][];

  beforeEach(() => {
    clock = new VirtualClock(0);
    book = new LeaseBook(LEASE_MS, clock);
    asked = [];
  });

  const answering = (results: Record<string, LeaseAnswer> = {}) => {
    return async (leases: readonly LeaseRef[]): Promise<LeaseAnswer[]> => {
      asked.push([...leases]);
      return leases.map(({ id }) => results[id] ?? "ok");
    };
  };

  const hold = (id: string, fence = 1, stopAfterMs: number | null = null): void => book.hold([{ id, fence, stopAfterMs }]);

  test("are those of another book after matching it, with what was known of the ones that stay", async () => {
    hold("stays");
    hold("goes");
    hold("changes", 1);
    await clock.advance(LEASE_MS - 1);
    await book.renew(async (leases) => leases.map(() => "ok"));
    const held = { stopAt: Infinity, heldAt: 0 };
    book.match([
      { id: "stays", fence: 1, ...held },
      { id: "changes", fence: 2, ...held },
    ]);
    expect([book.has({ id: "stays", fence: 1 }), book.has({ id: "goes", fence: 1 }), book.has({ id: "changes", fence: 2 })]).toEqual([
      true,
      false,
      true,
    ]);
    // The store is away: the one that was renewed just now is still good, the other was held too long ago.
    await clock.advance(2);
    expect((await book.renew(away)).gone).toEqual([{ id: "changes", fence: 2, why: "stale" }]);
  });

  test("has a copy that follows it", () => {
    const copy = new SharedLeases(() => {});
    const copied = (): string[] => readSharedLeases(copy.buffer).map(({ id, fence }) => `${id} ${fence}`);
    const own = new LeaseBook(LEASE_MS, clock, copy);
    own.hold([
      { id: "a", fence: 1, stopAfterMs: null },
      { id: "b", fence: 1, stopAfterMs: 5 },
    ]);
    own.hold([{ id: "a", fence: 2, stopAfterMs: null }]);
    expect(copied()).toEqual(["a 2", "b 1"]);
    own.drop([
      { id: "a", fence: 1 },
      { id: "b", fence: 1 },
    ]);
    expect(copied()).toEqual(["a 2"]);
  });

  test("are all renewed at once", async () => {
    hold("a");
    hold("b", 4);
    expect(await book.renew(answering())).toEqual({ gone: [], error: null });
    expect(asked).toEqual([
      [
        { id: "a", fence: 1 },
        { id: "b", fence: 4 },
      ],
    ]);
  });

  test("are asked for in calls of a thousand", async () => {
    for (let index = 0; index < 2500; index++) hold(`j${index}`);
    await book.renew(answering());
    expect(asked.map((call) => call.length)).toEqual([1000, 1000, 500]);
  });

  test("are forgotten when the store says that they are gone, and told once", async () => {
    hold("a");
    hold("b");
    expect((await book.renew(answering({ a: "cancelled", b: "stale" }))).gone).toEqual([
      { id: "a", fence: 1, why: "cancelled" },
      { id: "b", fence: 1, why: "stale" },
    ]);
    expect((await book.renew(answering())).gone).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  test("that were dropped while the call was under way are not told as gone", async () => {
    hold("a");
    const { gone } = await book.renew(async (leases) => {
      book.drop(leases);
      return ["stale"];
    });
    expect(gone).toEqual([]);
  });

  test("a job that was lost and claimed again is held under its new fence only", async () => {
    hold("a", 1);
    const { gone } = await book.renew(async () => {
      hold("a", 2);
      return ["stale"];
    });
    expect(gone).toEqual([]);
    book.drop([{ id: "a", fence: 1 }]);
    expect(book.has({ id: "a", fence: 2 })).toBe(true);
  });

  test("are not renewed beyond their time to stop", async () => {
    hold("bounded", 1, 35_000);
    hold("unbounded", 1, null);
    await clock.advance(35_000);
    await book.renew(answering());
    expect(asked).toEqual([[{ id: "unbounded", fence: 1 }]]);
  });

  test("without a time to stop they are not renewed while nobody shows a sign of life", async () => {
    hold("bounded", 1, 35_000);
    hold("unbounded", 1, null);
    await book.renew(answering(), true);
    expect(asked).toEqual([[{ id: "bounded", fence: 1 }]]);
  });

  test("are gone without the store's word only when their time has surely passed", async () => {
    hold("a");
    await clock.advance(LEASE_MS);
    const early = await book.renew(away);
    expect(early).toEqual({ gone: [], error: expect.objectContaining({ message: "away" }) });
    await clock.advance(1);
    expect((await book.renew(away)).gone).toEqual([{ id: "a", fence: 1, why: "stale" }]);
  });

  test("last anew from every renewal", async () => {
    hold("a");
    await clock.advance(20_000);
    await book.renew(answering());
    await clock.advance(LEASE_MS);
    expect((await book.renew(away)).gone).toEqual([]);
  });

  test("that ran out while nobody asked are asked for first", async () => {
    hold("a");
    await clock.advance("10m");
    expect((await book.renew(answering())).gone).toEqual([]);
  });

  test("are renewed until the time to stop that the other book has for them now", async () => {
    hold("waited", 1, 5_000);
    book.match([{ id: "waited", fence: 1, stopAt: 60_000, heldAt: 0 }]);
    await clock.advance(10_000);
    await book.renew(answering());
    expect(asked).toEqual([[{ id: "waited", fence: 1 }]]);
  });

  describe("of which a renewal hangs", () => {
    const BEAT_MS = 5_000;
    let answers: ((results: LeaseAnswer[]) => void)[];
    const hanging = (leases: readonly LeaseRef[]): Promise<LeaseAnswer[]> => {
      asked.push([...leases]);
      return new Promise((resolve) => answers.push(resolve));
    };

    /** A renewal that nobody answers, until it is waited for no longer. */
    async function hang(): ReturnType<LeaseBook["renew"]> {
      const renewing = book.renew(hanging);
      await clock.advance(BEAT_MS);
      return renewing;
    }

    beforeEach(() => {
      answers = [];
      hold("a");
    });

    test("are asked for again after the time of a beat", async () => {
      expect(await hang()).toEqual({ gone: [], error: expect.any(Error) as Error });
      expect((await book.renew(answering())).error).toBeNull();
      expect(asked).toHaveLength(2);
    });

    test("are good from the late answer on, and gone once their time has surely passed", async () => {
      await hang();
      answers[0]!(["ok"]);
      await clock.advance(LEASE_MS - BEAT_MS);
      expect((await hang()).gone).toEqual([]);
      expect((await hang()).gone).toEqual([{ id: "a", fence: 1, why: "stale" }]);
    });

    test("are told as gone by the next renewal when the late answer says so", async () => {
      await hang();
      answers[0]!(["cancelled"]);
      await clock.settle();
      expect((await book.renew(answering())).gone).toEqual([{ id: "a", fence: 1, why: "cancelled" }]);
      expect(asked).toHaveLength(1);
    });

    test("do not hold up those of another call", async () => {
      for (let index = 0; index < 1500; index++) hold(`j${index}`);
      const renewing = book.renew((leases) => (asked.length === 0 ? hanging(leases) : answering()(leases)));
      await clock.settle();
      expect(asked.map((call) => call.length)).toEqual([1000, 501]);
      await clock.advance(BEAT_MS);
      await renewing;
    });

    test("are not given up because a handler blocked the loop: what lies in the socket is read first", async () => {
      let now = 0;
      const timers: (() => void)[] = [];
      const own = new LeaseBook(LEASE_MS, {
        now: () => now,
        monotonic: () => now,
        setTimer: (callback) => (timers.push(callback), { cancel: () => {} }),
      });
      own.hold([{ id: "a", fence: 1, stopAfterMs: null }]);
      const renewing = own.renew(hanging);
      now = 2 * LEASE_MS;
      // A loop that was blocked comes to its timers first.
      timers[0]!();
      await new Promise((resolve) => setImmediate(resolve));
      answers[0]!(["ok"]);
      expect(await renewing).toEqual({ gone: [], error: null });
    });

    test("bring an error that comes late to nobody", async () => {
      let fail: (error: Error) => void = () => {};
      const renewing = book.renew(() => new Promise((_, reject) => (fail = reject)));
      await clock.advance(BEAT_MS);
      await renewing;
      fail(new Error("too late"));
      await clock.settle();
    });
  });
});
