import { describe, expect, test } from "vitest";
import { controlOf, Discard, HoldKey, RetryAfter, Snooze } from "../../../src/core/control-errors.ts";
import type { Duration } from "../../../src/core/duration.ts";

describe("what a handler may throw to say what follows", () => {
  test("each says its own", () => {
    expect(controlOf(new RetryAfter("5m"))).toEqual({ kind: "retry-after", delayMs: 300_000 });
    expect(controlOf(new Snooze(1500))).toEqual({ kind: "snooze", delayMs: 1500 });
    expect(controlOf(new HoldKey("30s"))).toEqual({ kind: "hold", delayMs: 30_000 });
    expect(controlOf(new Discard("no such user"))).toEqual({ kind: "discard" });
  });

  test("they have words for people", () => {
    expect(new RetryAfter("5m").message).toBe("the handler asked for a retry after 5m");
    expect(new RetryAfter("5m", "the API is down").message).toBe("the API is down");
    expect(new Snooze(1500).message).toBe("the handler asked to run again after 1500ms");
    expect(new HoldKey("30s").message).toBe("the handler asked to hold the limit key for 30s");
    expect(String(new Discard("no such user"))).toBe("Discard: no such user");
  });

  test.each([-1, 1.5, Number.NaN, Infinity, "soon", "11000d", null, undefined, {}, Symbol("s")])(
    "a delay of %s is refused by name",
    (delay) => {
      for (const make of [
        () => new RetryAfter(delay as Duration),
        () => new Snooze(delay as Duration),
        () => new HoldKey(delay as Duration),
      ]) {
        expect(make).toThrow(expect.objectContaining({ code: "invalid_input", field: "delay" }));
      }
    },
  );

  test("those of another copy of the package are understood", async () => {
    // Node loads a module once for each address.
    const address = "../../../src/core/control-errors.ts?another-copy";
    const copy = (await import(address)) as { RetryAfter: typeof RetryAfter; HoldKey: typeof HoldKey };
    const thrown = new copy.RetryAfter("2s");
    expect(thrown).not.toBeInstanceOf(RetryAfter);
    expect(controlOf(thrown)).toEqual({ kind: "retry-after", delayMs: 2000 });
    expect(controlOf(new copy.HoldKey("2s"))).toEqual({ kind: "hold", delayMs: 2000 });
  });

  test("anything else is an ordinary failure", () => {
    const explosive = new Proxy({}, { get: () => expect.unreachable() as unknown });
    const badDelay = Object.assign(new Snooze(1), { delayMs: "whenever" });
    for (const thrown of [new Error("x"), null, "RetryAfter", { name: "Discard" }, explosive, badDelay])
      expect(controlOf(thrown)).toBeNull();
  });
});
