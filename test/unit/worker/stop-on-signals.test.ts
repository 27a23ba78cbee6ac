import { EventEmitter } from "node:events";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { type Stoppable, stopOnSignals } from "../../../src/worker/stop-on-signals.ts";

class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
  get hearing(): number {
    return this.listenerCount("SIGTERM") + this.listenerCount("SIGINT");
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("signals", () => {
  let process: FakeProcess;

  beforeEach(() => {
    process = new FakeProcess();
  });

  test("the first closes in good order and exits with 0", async () => {
    const closing = Promise.withResolvers<void>();
    const close = vi.fn(() => closing.promise);
    stopOnSignals({ close }, { grace: "5s", process });
    process.emit("SIGTERM");
    await settled();
    expect(close).toHaveBeenCalledWith({ grace: "5s" });
    expect(process.exits).toEqual([]);
    closing.resolve();
    await settled();
    expect(process.exits).toEqual([0]);
  });

  test("a second exits at once with 1", () => {
    const stop = vi.fn(() => new Promise<void>(() => {}));
    stopOnSignals({ stop }, { process });
    process.emit("SIGINT");
    process.emit("SIGTERM");
    expect(stop).toHaveBeenCalledOnce();
    expect(process.exits).toEqual([1]);
  });

  test("a close that fails exits with 1 and says why", async () => {
    const said = vi.spyOn(console, "error").mockImplementation(() => {});
    stopOnSignals({ close: () => Promise.reject(new Error("disk gone")) }, { process });
    process.emit("SIGTERM");
    await settled();
    expect(process.exits).toEqual([1]);
    expect(said).toHaveBeenCalledOnce();
  });

  test("can be undone", () => {
    const undo = stopOnSignals({ close: async () => {} }, { process });
    undo();
    undo();
    expect(process.hearing).toBe(0);
  });
});

describe("signals to a process with several things to close", () => {
  let process: FakeProcess;

  beforeEach(() => {
    process = new FakeProcess();
  });

  test("close all of them, each with its own grace, and exit when the last has closed", async () => {
    const slow = Promise.withResolvers<void>();
    const quick = vi.fn(async () => {});
    const long = vi.fn(() => slow.promise);
    stopOnSignals({ close: quick }, { process, grace: "1s" });
    stopOnSignals({ stop: long }, { process, grace: "9s" });
    process.emit("SIGTERM");
    await settled();
    expect(quick).toHaveBeenCalledWith({ grace: "1s" });
    expect(long).toHaveBeenCalledWith({ grace: "9s" });
    expect(process.exits).toEqual([]);
    slow.resolve();
    await settled();
    expect(process.exits).toEqual([0]);
  });

  test("exit with 1 if any failed, but not before the others have closed", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const slow = Promise.withResolvers<void>();
    stopOnSignals({ close: () => Promise.reject(new Error("disk gone")) }, { process });
    stopOnSignals({ close: () => slow.promise }, { process });
    process.emit("SIGTERM");
    await settled();
    expect(process.exits).toEqual([]);
    slow.resolve();
    await settled();
    expect(process.exits).toEqual([1]);
  });

  test("leave alone what was taken back, and hear the rest", async () => {
    const gone = vi.fn(async () => {});
    const undo = stopOnSignals({ close: gone }, { process });
    const kept = vi.fn(async () => {});
    stopOnSignals({ close: kept }, { process });
    undo();
    process.emit("SIGTERM");
    await settled();
    expect([gone.mock.calls.length, kept.mock.calls.length, process.exits]).toEqual([0, 1, [0]]);
  });

  test("close what comes while the process is stopping, and wait for it too", async () => {
    const first = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    stopOnSignals({ close: () => first.promise }, { process });
    process.emit("SIGTERM");
    stopOnSignals({ close: () => late.promise }, { process });
    first.resolve();
    await settled();
    expect(process.exits).toEqual([]);
    late.resolve();
    await settled();
    expect(process.exits).toEqual([0]);
  });

  test("are heard by one listener, however many things there are", () => {
    for (let count = 0; count < 12; count++) stopOnSignals({ close: async () => {} }, { process });
    expect(process.hearing).toBe(2);
  });
});

describe("what cannot be stopped is refused when it is named", () => {
  test.each([[undefined], [null], [5], [{}], [{ stop: "yes" }]])("%j", (thing) => {
    const process = new FakeProcess();
    expect(() => stopOnSignals(thing as Stoppable, { process })).toThrow(
      expect.objectContaining({ code: "invalid_input", field: "stoppable" }) as Error,
    );
    expect(process.hearing).toBe(0);
  });

  test.each([
    ["grace", { grace: "soon" }],
    ["grace", { grace: -1 }],
    ["grace", { grace: null }],
    ["garce", { garce: "5s" }],
  ])("a bad %s: %j", (field, options) => {
    const process = new FakeProcess();
    const stop = (): unknown => stopOnSignals({ close: async () => {} }, { ...options, process } as never);
    expect(stop).toThrow(expect.objectContaining({ code: "invalid_input", field }) as Error);
    expect(process.hearing).toBe(0);
  });
});
