import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkFiles, checkHistory } from "./check-history.ts";
import type { Line } from "./line.ts";
import { readHistory, readTextLines } from "./read-history.ts";
import { recordToFile } from "./recorder.ts";
import { Tale } from "./tale.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-history-test-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Writes the lines of each process into a file of its own. */
function writeFiles(lines: readonly Line[]): string[] {
  const texts = Map.groupBy(lines, ({ by }) => by);
  return [...texts].map(([by, own]) => {
    const path = join(folder, `${by}.jsonl`);
    writeFileSync(path, own.map((line) => `${JSON.stringify(line)}\n`).join(""));
    return path;
  });
}

/** Many jobs that run and end, and one that is lost. */
function longTale(jobs: number): readonly Line[] {
  const tale = new Tale();
  for (let index = 0; index < jobs; index++)
    tale
      .insert(`job-${index}`)
      .claim("w", [`job-${index}`, 1])
      .complete("w", `job-${index}`, 1);
  return tale.insert("lost").dump(...Array.from({ length: jobs }, (_, index) => [`job-${index}`, "completed"] as const));
}

describe("histories in files", () => {
  test("are one history, by time", () => {
    const lines = longTale(20);
    expect([...readHistory(writeFiles(lines))]).toEqual(lines);
  });

  test("show the lines of what they found", () => {
    const [complaint, ...others] = checkFiles(writeFiles(longTale(3)), { timed: true, epsilonMs: 20 });
    expect(others).toEqual([]);
    expect(complaint).toMatch(
      /^I1 \(no accepted job is lost\), job lost: was accepted, and is neither there nor rightly removed\n {2}\d+: \{.*"do":"insert"/,
    );
  });

  test("need not fit into memory", () => {
    const lines = longTale(500);
    const inMemory = checkHistory(lines, { timed: true, epsilonMs: 20 });
    expect(inMemory.map(({ job }) => job)).toEqual(["lost"]);
    expect(checkHistory(lines, { timed: true, epsilonMs: 20, mostInMemory: 50 })).toEqual(inMemory);
  });

  test("may end in the middle of a line, where a process was killed", () => {
    const path = join(folder, "killed.jsonl");
    const { recorder, close } = recordToFile(path, "p");
    recorder.begin("note", { job: "a", fence: 1 }).end("ok", {});
    close();
    appendFileSync(path, '{"at":1,"by":"p","op":2,"pha');
    expect([...readHistory([path])]).toMatchObject([{ phase: "invoke" }, { phase: "ok" }]);
  });

  test("may have lines longer than what is read at once", () => {
    const path = join(folder, "long.jsonl");
    const long = "ü".repeat(300_000);
    writeFileSync(path, `short\n${long}\n\nlast\n`);
    expect([...readTextLines(path)]).toEqual(["short", long, "last"]);
  });

  test("an answer without its call is no history", () => {
    const answer = { at: 1, by: "p", op: 1, phase: "ok", do: "note", answer: {} } as const;
    expect(() => checkHistory([answer])).toThrow("line 1 ends call 1 of p, which never began");
  });
});
