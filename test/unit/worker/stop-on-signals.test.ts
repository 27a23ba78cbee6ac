import { EventEmitter } from "node:events";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { stopOnSignals } from "../../../src/worker/stop-on-signals.ts";

class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
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
    expect(process.listenerCount("SIGTERM") + process.listenerCount("SIGINT")).toBe(0);
  });
});
