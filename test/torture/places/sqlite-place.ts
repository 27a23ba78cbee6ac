import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { type Stage, storeDeed } from "../deed.ts";
import type { Guard } from "../guard.ts";
import { LEASE_MS } from "../jobs.ts";
import { ALL_KILLED } from "../process-deeds.ts";
import { SmallDisk } from "../small-disk.ts";
import { BLOCKED_IN_TRANSACTION, LOOP_BLOCKED } from "../strangers.ts";
import { diskFull, NO_SMALL_DISK } from "./disk-full.ts";
import type { Place } from "./place.ts";

const LOCK_WITHIN_MS = 5_000;
/** A probe waits no longer for the lock, as nothing else happens here meanwhile. */
const PROBE_WITHIN_MS = 100;
/** So long do other programs keep the file at most; where it shall be short, two leases. */
const LONG_LOCK_MS = 7_000;

/** Several processes on one file. There is no server to kill: what is killed is always a process that may be in the middle of a write. */
export function sqlitePlace(guard: Guard, folder: string): Place {
  const disk = SmallDisk.mount(guard);
  const path = join(disk?.path ?? folder, "jobs.db");
  const url = `sqlite:${path}`;
  let prober: DatabaseSync | null = null;
  return {
    url,
    // Its time is the latest that any of the processes has used, and those are set on purpose.
    hasMachineTime: false,
    deeds: [
      ALL_KILLED,
      storeDeed("file locked by another program", (stage) => holdLock(path, stage, 2 * LEASE_MS)),
      storeDeed("file locked for long", (stage) => holdLock(path, stage, LONG_LOCK_MS), { isLong: true }),
      ...diskFull(disk),
    ],
    strangers: [LOOP_BLOCKED, BLOCKED_IN_TRANSACTION],
    untried: disk === null ? [NO_SMALL_DISK] : [],
    reach: async () => url,
    async probe() {
      prober ??= openProber(path);
      prober.exec("update torture_probe set count = count + 1");
    },
    heal: async () => disk?.free(),
    stop: async () => prober?.close(),
  };
}

function openProber(path: string): DatabaseSync {
  const prober = new DatabaseSync(path, { timeout: PROBE_WITHIN_MS });
  prober.exec("create table if not exists torture_probe (count integer not null)");
  prober.exec("insert into torture_probe select 0 where not exists (select 1 from torture_probe)");
  return prober;
}

/** Somebody else writes to the file and takes their time. Nobody can write meanwhile: that is what SQLite's lock is. */
async function holdLock(path: string, { random }: Stage, mostMs: number): Promise<boolean> {
  const other = new DatabaseSync(path, { timeout: LOCK_WITHIN_MS });
  try {
    other.exec("begin immediate");
    await sleep(random.int(Math.min(200, mostMs), mostMs));
    other.exec("rollback");
    return true;
  } catch (error) {
    if (/database is locked/.test(String(error))) return false;
    throw error;
  } finally {
    other.close();
  }
}
