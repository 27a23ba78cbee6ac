import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Names the folder in which servers of a run of tests keep their first files, for the next ones to copy. */
export const FIRST_DATA = "MILLRACE_TEST_FIRST_DATA";

/** Vitest calls it once, before all files; what it gives back is called after them. */
export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "millrace-first-data-"));
  // A server that root starts runs as another user, and so do those who make its files.
  chmodSync(folder, 0o777);
  process.env[FIRST_DATA] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
