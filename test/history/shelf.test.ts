import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { Shelf } from "./shelf.ts";

test("what is too much for memory goes to files, comes back by job, and leaves nothing behind", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-shelf-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  vi.stubEnv("TMPDIR", folder);
  const [small, large] = [new Shelf(100), new Shelf()];
  for (const shelf of [small, large]) {
    for (let count = 0; count < 1_000; count++) {
      shelf.put(`job-${count % 40}`, "aborts", { by: "w", worker: "w", job: `job-${count % 40}`, fence: count, at: count, line: count });
    }
  }
  expect(readdirSync(folder)).toHaveLength(1);
  const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1);
  expect([...small.stories()].sort(byId)).toEqual([...large.stories()].sort(byId));
  small.dispose();
  expect(readdirSync(folder)).toEqual([]);
});
