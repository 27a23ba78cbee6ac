import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { StoreFinding, StoreReport } from "../../core/store-report.ts";
import { bearsSeveralConnections, claimAlone, storeError } from "./database.ts";
import { SCHEMA_VERSION, versionOf } from "./migrations.ts";
import { parseSqliteUrl } from "./url.ts";

const LOOK_TIMEOUT_MS = 500;

/** Looks at the file of a `sqlite:` URL. One that is not there yet is not made. */
export function inspectSqlite(url: string, sqliteVersion: string = process.versions.sqlite ?? "0"): StoreReport {
  const { path, synchronous } = parseSqliteUrl(url);
  const file = resolve(path);
  return {
    engine: `SQLite ${sqliteVersion}`,
    schema: { found: existsSync(file) ? schemaOf(file, sqliteVersion) : 0, wanted: SCHEMA_VERSION },
    now: null,
    findings: [fileFinding(file), sharingFinding(sqliteVersion), durabilityFinding(synchronous)],
  };
}

function schemaOf(file: string, sqliteVersion: string): number {
  const release = bearsSeveralConnections(sqliteVersion) ? () => {} : claimAlone(file, sqliteVersion);
  let db: DatabaseSync | null = null;
  try {
    // Not opened read-only: the last one to close a WAL file tidies up beside it, and who may not write cannot.
    db = new DatabaseSync(file, { timeout: LOOK_TIMEOUT_MS, allowExtension: false, defensive: true });
    db.exec("pragma query_only = on");
    return versionOf(db);
  } catch (error) {
    throw storeError(error);
  } finally {
    db?.close();
    release();
  }
}

function fileFinding(file: string): StoreFinding {
  if (!existsSync(file)) return { grade: "good", message: `${file} is not there yet: the first use makes it` };
  const isPrivate = process.platform === "win32" || (statSync(file).mode & 0o077) === 0;
  return isPrivate
    ? { grade: "good", message: `${file} can be read by its owner only` }
    : { grade: "doubtful", message: `${file} can be read by others on this machine, payloads included: chmod 600 ${file}` };
}

function sharingFinding(version: string): StoreFinding {
  return bearsSeveralConnections(version)
    ? { grade: "good", message: "several processes may share the file" }
    : {
        grade: "doubtful",
        message: `SQLite ${version} cannot be shared safely, so one process at a time may use the file: install the newest release of Node 24 or later`,
      };
}

function durabilityFinding(synchronous: "full" | "normal"): StoreFinding {
  return synchronous === "full"
    ? { grade: "good", message: "synchronous=full: what was accepted survives a power cut" }
    : { grade: "doubtful", message: "synchronous=normal: a power cut may take the newest jobs" };
}
