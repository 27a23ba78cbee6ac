import { describe, expect, test } from "vitest";
import { Output } from "../../../src/cli/output.ts";
import { withProgress } from "../../../src/cli/progress.ts";
import { fakeTerminal } from "./type-command.ts";

function shownTo(isTTY: boolean, options: { json?: boolean; quiet?: boolean } = {}) {
  const terminal = fakeTerminal([], { isTTY, cwd: "." });
  return { output: new Output(terminal, options), screen: terminal.stderr, what: "retrying" };
}

describe("progress", () => {
  test("is a bar on stderr that is gone when the work is done", async () => {
    const place = shownTo(true);
    const work = Promise.withResolvers<number>();
    let looks = 0;
    // By the second look the first has been shown.
    const look = async (): Promise<{ done: number; total: number }> => {
      if (++looks === 2) work.resolve(10);
      return { done: 3, total: 10 };
    };
    expect(await withProgress(place, work.promise, look)).toBe(10);
    expect(place.screen.text).toMatch(/^\r\u001b\[Kretrying █+░+ 30 % 3 of 10[\s\S]*\r\u001b\[K$/);
  });

  test.each([
    ["a program reads", shownTo(false)],
    ["JSON is wanted", shownTo(true, { json: true })],
    ["no talk is wanted", shownTo(true, { quiet: true })],
  ])("is not shown where %s", async (_name, place) => {
    expect(await withProgress(place, Promise.resolve("done"), () => Promise.reject(new Error("nobody looks")))).toBe("done");
    expect(place.screen.text).toBe("");
  });

  test("a look that fails does not fail the work, and a failed work leaves no bar", async () => {
    const place = shownTo(true);
    expect(await withProgress(place, Promise.resolve(1), () => Promise.reject(new Error("away")))).toBe(1);
    const broken = withProgress(place, Promise.reject(new Error("it broke")), async () => ({ done: 0, total: 1 }));
    await expect(broken).rejects.toThrow("it broke");
    expect(place.screen.text.endsWith("\r\u001b[K")).toBe(true);
  });
});
