import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";

/** A file system in memory that Linux has, and what must be free there: a run uses a small part of it. */
const MEMORY = "/dev/shm";
const ENOUGH_BYTES = 6 * 1024 ** 3;

/**
 * Vitest calls it once, before all files. Stores and servers of tests keep their files in memory then, where there is room: no test cuts the
 * power, so nothing depends on the disk, and a commit does not wait for it. Who sets TMPDIR decides where the files are.
 */
export default function setUp(): () => void {
  if (process.env["TMPDIR"] !== undefined || !hasRoom()) return () => {};
  const folder = mkdtempSync(`${MEMORY}/millrace-tests-`);
  // A server that root starts runs as another user.
  chmodSync(folder, 0o777);
  process.env["TMPDIR"] = folder;
  return () => {
    // A test that failed may have kept a history for us to read.
    if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true });
  };
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ENOUGH_BYTES;
}
