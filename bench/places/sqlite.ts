import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Site } from "./place.ts";

/** A new file for each place, in one temporary folder. */
export async function sqliteSite(): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  let files = 0;
  return {
    about: `SQLite ${process.versions.sqlite}, WAL, synchronous FULL, in the temporary folder of this machine`,
    async fresh() {
      const inside = mkdtempSync(join(folder, `${files++}-`));
      const path = join(inside, "jobs.db");
      return {
        url: `sqlite:${path}`,
        bytes: async () => bytesOf(path),
        sizes: async () => new Map([["the file", bytesOf(path)]]),
        close: async () => rmSync(inside, { recursive: true, force: true }),
      };
    },
    close: async () => remove(),
  };
}

/** The size of the file after a checkpoint of the WAL. */
function bytesOf(path: string): number {
  const db = new DatabaseSync(path);
  db.exec("pragma wal_checkpoint(truncate)");
  db.close();
  return statSync(path).size;
}
