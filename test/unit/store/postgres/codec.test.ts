import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeText, encodeText, texts } from "../../../../src/store/postgres/codec.ts";
import { payloadsOf, readPayload, readTopic, topicOf } from "../../../../src/store/postgres/notifications.ts";

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom("\u0000", "\u0001", "\ud800", "a", '"', "\\", "{", ","), fc.string({ maxLength: 2 })),
});

describe("texts", () => {
  test("of any kind are stored without U+0000 and lone surrogates, and come back as they were", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const stored = encodeText(text);
        expect(stored).not.toContain("\u0000");
        expect(stored.isWellFormed()).toBe(true);
        expect(decodeText(stored)).toBe(text);
      }),
    );
  });

  test("that differ are stored differently, so that keys are compared exactly", () => {
    fc.assert(fc.property(anyText, anyText, (a, b) => (a === b) === (encodeText(a) === encodeText(b))));
  });

  test("in an array are quoted, and nothing is null by accident", () => {
    expect(texts(["a", null, "null", "", 'say "\\"', "{a,b}"])).toBe(String.raw`{"a",null,"null","","say \"\\\"","{a,b}"}`);
  });
});

describe("notifications", () => {
  test("carry hints there and back, cut so that the server takes them", () => {
    const queues = Array.from({ length: 200 }, (_, index) => `${index}`.padEnd(128, "q"));
    const payloads = payloadsOf(
      "me",
      queues.map((queue) => topicOf({ topic: "work", queue })),
    );
    expect(Math.max(...payloads.map((payload) => payload.length))).toBeLessThan(8_000);
    const heard = payloads.flatMap((payload) => readPayload(payload).topics.map(readTopic));
    expect(heard).toEqual(queues.map((queue) => ({ topic: "work", queue })));
    expect(readPayload(payloads[0]!).sender).toBe("me");
  });

  test("of words that a later version may send are passed over", () => {
    expect(readTopic("something:new")).toBeNull();
    expect(readTopic("lease")).toEqual({ topic: "lease" });
  });
});
