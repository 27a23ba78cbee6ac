import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { readSharedRows, SharedRows } from "../../../src/lib/shared-rows.ts";

function textsOf(buffer: SharedArrayBuffer): string[] {
  return readSharedRows(buffer).map(({ text }) => text);
}

describe("rows in shared memory", () => {
  test("are read as they were written, and gone when they were removed", () => {
    const rows = new SharedRows(() => {});
    const one = rows.add("one", 1, Infinity, -0.5);
    rows.add("two", 2, 3, 4);
    expect(readSharedRows(rows.buffer)).toEqual([
      { text: "one", numbers: [1, Infinity, -0.5] },
      { text: "two", numbers: [2, 3, 4] },
    ]);
    rows.remove(one);
    expect(textsOf(rows.buffer)).toEqual(["two"]);
    rows.add("three", 0, 0, 0);
    expect(textsOf(rows.buffer)).toEqual(["three", "two"]);
  });

  test("move to larger memory when there is no room, and whoever reads is told", () => {
    let told: SharedArrayBuffer | null = null;
    const rows = new SharedRows((buffer) => (told = buffer));
    const all = Array.from({ length: 1000 }, (_, number) => `row ${number}`);
    const places = all.map((text) => rows.add(text, 0, 0, 0));
    expect(new Set(places).size).toBe(1000);
    expect(told).toBe(rows.buffer);
    expect(textsOf(rows.buffer)).toEqual(all);
    for (const place of places) rows.remove(place);
    expect(textsOf(rows.buffer)).toEqual([]);
  });

  test("refuse a text that does not fit", () => {
    expect(() => new SharedRows(() => {}).add("x".repeat(41), 0, 0, 0)).toThrow(RangeError);
  });

  test("are never seen half written by another thread", async () => {
    const rows = new SharedRows(() => {});
    const reader = new Worker(new URL("shared-rows-reader.ts", import.meta.url), { workerData: rows.buffer });
    onTestFinished(async () => void (await reader.terminate()));
    const verdict = once(reader, "message");
    const over = new AbortController();
    void verdict.then(() => over.abort());
    // The text and the numbers of a row say the same; what is read of two rows at once would not.
    for (let number = 0; !over.signal.aborted; number++) {
      const row = rows.add(String(number), number, number, number);
      rows.remove(row);
      if (number % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await verdict)[0]).toEqual({ seen: 2000, torn: [] });
  });
});
