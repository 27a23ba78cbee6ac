import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { cutText } from "../../../src/worker/cut-text.ts";

test.prop([fc.string({ unit: "binary", maxLength: 200 }), fc.integer({ min: 0, max: 300 })])(
  "the longest whole characters that fit are kept, and nothing else",
  (text, maxBytes) => {
    const whole = text.toWellFormed();
    const cut = cutText(text, maxBytes);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxBytes);
    expect(whole.startsWith(cut)).toBe(true);
    const next = whole.codePointAt(cut.length);
    if (next !== undefined) expect(Buffer.byteLength(cut + String.fromCodePoint(next))).toBeGreaterThan(maxBytes);
  },
);

test("a short text is itself", () => {
  expect(cutText("hello", 4096)).toBe("hello");
});
