import { chmodSync, closeSync, existsSync, openSync, statfsSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../../core/errors.ts";
import { NODES_THAT_SHARE_SQLITE } from "../../core/node-version.ts";
import { Connection } from "./connection.ts";
import { migrate } from "./migrations.ts";

/**
 * How long a call may block the event loop while another process writes. After that a timer tries again, so that heartbeats, timers and
 * requests go on meanwhile.
 */
export const BUSY_TIMEOUT_MS = 5;

const START_DEADLINE_MS = 10_000;

export interface OpenOptions {
  readonly path: string;
  /** FULL survives a power cut; NORMAL may lose the newest commits in one, but is never inconsistent. */
  readonly synchronous: "full" | "normal";
  readonly sqliteVersion: string;
}

export interface OpenedDatabase {
  readonly db: DatabaseSync;
  /** Whether other connections, also of other processes or threads, may use the file at the same time. */
  readonly shareable: boolean;
  /** Call it after closing the database. */
  readonly release: () => void;
}

/** Opens the file in WAL mode, with the newest schema, readable only by its owner. */
export async function openDatabase(options: OpenOptions): Promise<OpenedDatabase> {
  const path = resolve(options.path);
  createPrivately(path);
  refuseNetworkFile(path);
  const shareable = allowsSeveralConnections(options.sqliteVersion);
  const release = shareable ? () => {} : lockExclusively(path, options.sqliteVersion);
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, allowExtension: false, defensive: true });
    await untilNotBusy(() => prepare(db!, options));
    return { db, shareable, release };
  } catch (error) {
    db?.close();
    release();
    throw cannotOpen(path, error);
  }
}

/** The most that a given database may wait for a lock: meanwhile it blocks the event loop, and heartbeats with it. */
const MOST_BUSY_TIMEOUT_MS = 5_000;

export interface GivenDatabase extends OpenedDatabase {
  /** The file; empty in memory. */
  readonly path: string;
}

/**
 * Checks a database of the application and brings our tables up to date in it. Its settings stay as they are: the application's own
 * transactions run on it, too.
 */
export async function readGivenDatabase(given: unknown): Promise<GivenDatabase> {
  if (!isDatabase(given))
    throw refused(`sqlite must be a DatabaseSync of node:sqlite${isBetterSqlite3(given) ? `. ${TWO_LIBRARIES}` : ""}`);
  const db = given;
  if (!db.isOpen) throw refused("sqlite is a database that is closed: connect before you close it");
  if (db.isTransaction) throw refused("sqlite has an open transaction: connect before you begin it");
  const on = new Connection(db);
  const path = fileOf(on);
  const mode = String(on.get("pragma journal_mode")?.[0]);
  if (path !== "" && mode !== "wal") throw refused(`sqlite is in journal mode ${mode}: run "pragma journal_mode = wal" on it first`);
  const busyMs = on.number("pragma busy_timeout")!;
  if (busyMs > MOST_BUSY_TIMEOUT_MS) {
    throw refused(
      `sqlite has a busy timeout of ${busyMs} ms, which would block the event loop that long: set ${MOST_BUSY_TIMEOUT_MS} or less`,
    );
  }
  const version = String(on.get("select sqlite_version()")?.[0]);
  const shareable = path !== "" && allowsSeveralConnections(version);
  const release = path === "" || shareable ? () => {} : lockExclusively(path, version);
  try {
    if (path !== "") refuseNetworkFile(path);
    await untilNotBusy(() => migrate(db));
  } catch (error) {
    release();
    throw cannotOpen(path || "the given database", error);
  }
  return { db, shareable, release, path };
}

/** The file of a database; empty in memory. */
export function fileOf(on: Connection): string {
  const main = on.all("pragma database_list").find(([, name]) => name === "main");
  return String(main?.[2] ?? "");
}

export function isDatabase(given: unknown): given is DatabaseSync {
  return typeof given === "object" && given !== null && typeof (given as DatabaseSync).prepare === "function" && "isTransaction" in given;
}

/** Why a connection of better-sqlite3 cannot be used: see "How To Corrupt An SQLite Database File", section 2.2.1. */
export const TWO_LIBRARIES =
  "better-sqlite3 has its own copy of SQLite, and two copies in one process drop each other's locks on a file and corrupt it: open the file with node:sqlite";

export function isBetterSqlite3(given: unknown): boolean {
  return typeof given === "object" && given !== null && "inTransaction" in given && "pragma" in given;
}

function refused(message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field: "sqlite" });
}

function cannotOpen(path: string, error: unknown): unknown {
  const code = primaryCode(error);
  if (code === null) return error;
  if (code === SQLITE_NOTADB) return new MillraceError("unsupported_store", `${path} is not a SQLite file`, { cause: error });
  return new MillraceError("store_unavailable", `${path} cannot be opened as a SQLite file: ${(error as Error).message}`, { cause: error });
}

/**
 * SQLite before 3.51.3 (and 3.52.0) can corrupt a WAL file that several connections use, through a rare race. With such a version, only one
 * process may use the file, with one connection.
 */
export function allowsSeveralConnections(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3) return major > 3;
  if (minor === 52) return patch > 0;
  return minor > 51 || (minor === 51 && patch >= 3);
}

/** Holds an exclusive lock beside the file until you call the returned function. It ends with the process. */
export function lockExclusively(path: string, version: string): () => void {
  const owner = `${path}-owner`;
  createPrivately(owner);
  const lock = new DatabaseSync(owner, { timeout: 0 });
  try {
    lock.exec("begin exclusive");
    return () => lock.close();
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw storeError(error);
    throw new MillraceError(
      "unsupported_store",
      `${path} is in use by another process, and SQLite ${version} cannot share it safely. Install ${NODES_THAT_SHARE_SQLITE}`,
    );
  }
}

const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
]);

/** WAL needs shared memory, so two machines that use one file corrupt it. */
function refuseNetworkFile(path: string): void {
  const kind = NETWORK_FILE_SYSTEMS.get(statfsSync(path).type);
  if (kind === undefined) return;
  throw new MillraceError("unsupported_store", `${path} is on a network file system (${kind}), where SQLite is not safe. Use a local disk`);
}

function prepare(db: DatabaseSync, options: OpenOptions): void {
  const mode = db.prepare("pragma journal_mode = wal").get()?.["journal_mode"];
  if (mode !== "wal") {
    throw new MillraceError(
      "unsupported_store",
      `SQLite could not switch ${options.path} to WAL mode (it stays "${String(mode)}"). Put the file on a local disk, not a network file system`,
    );
  }
  db.exec(`pragma synchronous = ${options.synchronous}; pragma cache_size = -16000; pragma foreign_keys = off`);
  migrate(db);
}

/** Creates the file with mode 0600 before SQLite opens it, because -wal and -shm copy its mode, and payloads are private. */
function createPrivately(path: string): void {
  try {
    if (existsSync(path)) return;
    closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600); // the umask may have removed some bits
  } catch (error) {
    throw new MillraceError("store_unavailable", `the SQLite file ${path} cannot be created: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function untilNotBusy(step: () => void): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS;
  for (;;) {
    try {
      return step();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
    }
  }
}

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

/** The error that a caller gets when SQLite fails. */
export function storeError(error: unknown): unknown {
  const code = primaryCode(error);
  if (code === null) return error;
  const message = (error as Error).message;
  if (code === SQLITE_FULL) {
    return new MillraceError("store_full", "the disk of the SQLite file is full. Free some space, then try again", { cause: error });
  }
  return new MillraceError("store_unavailable", `SQLite answered with an error: ${message}`, { cause: error });
}

function primaryCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : null;
}
