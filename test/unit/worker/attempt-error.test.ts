import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { describeThrown } from "../../../src/worker/attempt-error.ts";

const bytes = (text: string | null): number => Buffer.byteLength(text ?? "");

describe("what a job remembers of a thrown value", () => {
  test("an Error keeps its name, message and stack", () => {
    const error = new RangeError("too far");
    expect(describeThrown(error)).toEqual({ name: "RangeError", message: "too far", stack: error.stack, kind: "error" });
  });

  test.each([
    [null, "null"],
    [undefined, "undefined"],
    ["plain text", "plain text"],
    [42n, "42n"],
    [Symbol("s"), "Symbol(s)"],
    [{ code: 7 }, "{ code: 7 }"],
  ])("%s, which is no Error, is shown as %s", (thrown, message) => {
    expect(describeThrown(thrown)).toEqual({ name: "NonError", message, stack: null, kind: "error" });
  });

  test("an object with a message of its own speaks for itself", () => {
    expect(describeThrown({ name: "Timeout", message: "too slow" })).toMatchObject({ name: "Timeout", message: "too slow" });
  });

  test("a cycle is shown as one", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    expect(describeThrown(cyclic).message).toContain("Circular");
  });

  test("5 MB are cut, and cut between characters", () => {
    const { message } = describeThrown("é".repeat(5 * 1024 * 1024));
    expect(bytes(message)).toBeLessThanOrEqual(64 * 1024);
    expect(message).toMatch(/^é+$/u);
  });

  test("a stack of 5 MB is cut at 64 KiB", () => {
    const error = new Error("deep");
    error.stack = "€".repeat(5 * 1024 * 1024);
    const { stack } = describeThrown(error);
    expect(bytes(stack)).toBeLessThanOrEqual(64 * 1024);
    expect(bytes(stack)).toBeGreaterThan(64 * 1024 - 4);
  });

  test("lone surrogates are replaced", () => {
    expect(describeThrown("a\ud800b").message).toBe("a\ufffdb");
  });

  test("causes are told below the stack", () => {
    const { stack } = describeThrown(new Error("outer", { cause: new TypeError("inner") }));
    expect(stack).toMatch(/Error: outer[^]*\nCaused by: TypeError: inner/);
  });

  test("an error that is its own cause ends", () => {
    const error = new Error("round");
    error.cause = error;
    expect(describeThrown(error).stack).toBe(error.stack);
  });

  test("a long chain of causes is cut", () => {
    let error = new Error("0");
    for (let depth = 1; depth < 1000; depth++) error = new Error(String(depth), { cause: error });
    expect(describeThrown(error).stack?.match(/Caused by/g)).toHaveLength(10);
  });

  test("an AggregateError shows its errors", () => {
    const { stack } = describeThrown(new AggregateError([new Error("one"), "two"], "both"));
    expect(stack).toMatch(/both[^]*errors\[0\]: Error: one[^]*errors\[1\]: two/);
  });

  test("getters, traps and toString that throw do no harm", () => {
    const explode = (): never => {
      throw new Error("hostile");
    };
    const hostileError = new Error("x");
    for (const field of ["name", "message", "stack", "cause"]) Object.defineProperty(hostileError, field, { get: explode });
    const trapped = new Proxy(
      {},
      { get: explode, has: explode, ownKeys: explode, getPrototypeOf: explode, getOwnPropertyDescriptor: explode },
    );
    const { proxy: revoked, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const thrown of [hostileError, trapped, revoked, { toString: explode, toJSON: explode }, Object.create(null), explode]) {
      expect(describeThrown(thrown)).toMatchObject({ kind: "error", name: expect.any(String), message: expect.any(String) });
    }
  });

  test("a rejected promise that was thrown is no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", listen);
    expect(describeThrown(Promise.reject(new Error("inside"))).name).toBe("NonError");
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", listen);
    expect(unhandled).toEqual([]);
  });

  test.prop([fc.anything({ withBigInt: true, withNullPrototype: true, withObjectString: true, withSparseArray: true })])(
    "whatever it is, the answer is bounded and well-formed",
    (thrown) => {
      const { name, message, stack } = describeThrown(thrown);
      expect(bytes(name)).toBeLessThanOrEqual(256);
      expect(bytes(message)).toBeLessThanOrEqual(8 * 1024);
      expect(bytes(stack)).toBeLessThanOrEqual(64 * 1024);
      expect((name + message + (stack ?? "")).isWellFormed()).toBe(true);
    },
  );
});
