import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The path of a file in a folder of its own, which vanishes with the test. */
export function temporaryFile(name = "jobs.db"): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}
