import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, test } from "vitest";
import { Reconnector } from "../../../../src/store/postgres/reconnector.ts";
import { VirtualClock } from "../../../../src/testing/virtual-clock.ts";

const REFUSED = new Error("connection refused");
const FORBIDDEN = new Error("wrong password");

describe("a server that takes no connections", () => {
  let clock: VirtualClock;
  let triesAt: number[];
  let answer: Error | null;
  let reconnector: Reconnector;

  beforeEach(() => {
    clock = new VirtualClock(0);
    triesAt = [];
    answer = REFUSED;
    reconnector = new Reconnector({
      clock,
      connect: async () => {
        triesAt.push(clock.monotonic());
        if (answer !== null) throw answer;
      },
      meansUnreachable: (error) => error === REFUSED,
      pauseMs: (failures) => Math.min(1000, 100 * 2 ** failures),
    });
  });

  function wait(signal = new AbortController().signal): { readonly isOver: () => boolean } {
    let isOver = false;
    void reconnector.untilReachable(signal).then(() => (isOver = true));
    return { isOver: () => isOver };
  }

  test("is tried by one for all, with pauses that grow, until it takes a connection", async () => {
    reconnector.failed(REFUSED);
    const calls = Array.from({ length: 100 }, () => wait());
    await clock.advance("5s");
    expect(triesAt).toEqual([100, 300, 700, 1500, 2500, 3500, 4500]);
    expect([reconnector.isReachable, reconnector.lastError, calls.some(({ isOver }) => isOver())]).toEqual([false, REFUSED, false]);
    answer = null;
    await clock.advance("1s");
    expect([reconnector.isReachable, calls.every(({ isOver }) => isOver())]).toEqual([true, true]);
    expect(triesAt).toHaveLength(8);
  });

  test("is left alone when nobody waits, and those who come later keep the pause", async () => {
    reconnector.failed(REFUSED);
    const patience = new AbortController();
    const call = wait(patience.signal);
    await clock.advance(350);
    patience.abort();
    await clock.advance("1h");
    expect([call.isOver(), reconnector.isReachable, triesAt]).toEqual([true, false, [100, 300]]);
    const since = clock.monotonic();
    wait();
    await clock.advance("1s");
    expect(triesAt.slice(2).map((at) => at - since)).toEqual([400]);
  });

  test("that answers with another error lets all see it for themselves", async () => {
    reconnector.failed(REFUSED);
    const call = wait();
    answer = FORBIDDEN;
    await clock.advance(100);
    expect([call.isOver(), reconnector.isReachable]).toEqual([true, true]);
    reconnector.failed(FORBIDDEN);
    expect(reconnector.isReachable).toBe(true);
  });

  test("is passed at once while it is open, or when there is no time left", async () => {
    const free = wait();
    reconnector.failed(REFUSED);
    const late = wait(AbortSignal.abort());
    await clock.settle();
    expect([free.isOver(), late.isOver(), triesAt]).toEqual([true, true, []]);
  });

  test("keeps nothing of calls that have left, however many come while it is closed", async () => {
    const comeAndLeave = async (calls: number): Promise<void> => {
      for (let call = 0; call < calls; call++) {
        const patience = new AbortController();
        const passing = reconnector.untilReachable(patience.signal);
        patience.abort();
        await passing;
      }
    };
    reconnector.failed(REFUSED);
    await comeAndLeave(1_000);
    const before = heapInUse();
    await comeAndLeave(100_000);
    // One promise that each had left behind would be ten times as much.
    expect(heapInUse() - before).toBeLessThan(2_000_000);
  });
});

function heapInUse(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
