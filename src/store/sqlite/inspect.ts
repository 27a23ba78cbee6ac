import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { NODES_THAT_SHARE_SQLITE } from "../../core/node-version.ts";
import type { StoreFinding, StoreReport } from "../../core/store-report.ts";
import { allowsSeveralConnections, lockExclusively, storeError } from "./database.ts";
import { SCHEMA_VERSION, versionOf } from "./migrations.ts";
import { parseSqliteUrl } from "./url.ts";

const LOOK_TIMEOUT_MS = 500;

/** Reports on the file of a `sqlite:` URL. Does not create it. */
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
  const release = allowsSeveralConnections(sqliteVersion) ? () => {} : lockExclusively(file, sqliteVersion);
  let db: DatabaseSync | null = null;
  try {
    // Not opened read-only: the last to close a WAL file removes the files beside it, which needs write access.
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
  if (!existsSync(file)) return { grade: "good", message: `${file} does not exist yet: the first use creates it` };
  const isPrivate = process.platform === "win32" || (statSync(file).mode & 0o077) === 0;
  return isPrivate
    ? { grade: "good", message: `only its owner can read ${file}` }
    : { grade: "doubtful", message: `other users of this machine can read ${file}, payloads included: run chmod 600 ${file}` };
}

function sharingFinding(version: string): StoreFinding {
  return allowsSeveralConnections(version)
    ? { grade: "good", message: "several processes may share the file" }
    : {
        grade: "doubtful",
        message: `SQLite ${version} cannot share the file safely, so only one process at a time may use it: install ${NODES_THAT_SHARE_SQLITE}`,
      };
}

function durabilityFinding(synchronous: "full" | "normal"): StoreFinding {
  return synchronous === "full"
    ? { grade: "good", message: "synchronous=full: accepted jobs survive a power cut" }
    : { grade: "doubtful", message: "synchronous=normal: a power cut may lose the newest jobs" };
}
