import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Stage } from "../deed.ts";
import type { Guard } from "../guard.ts";
import { LEASE_MS } from "../jobs.ts";
import { ALL_KILLED } from "../process-deeds.ts";
import { SmallDisk } from "../small-disk.ts";
import { diskFull, NO_SMALL_DISK } from "./disk-full.ts";
import type { Place } from "./place.ts";

const LOCK_WITHIN_MS = 5_000;

/** Several processes on one file. There is no server to kill: what is killed is always a process that may be in the middle of a write. */
export function sqlitePlace(guard: Guard, folder: string): Place {
  const disk = SmallDisk.mount(guard);
  const path = join(disk?.path ?? folder, "jobs.db");
  const url = `sqlite:${path}`;
  return {
    url,
    // Its time is the latest that any of the processes has used, and those are set on purpose.
    hasMachineTime: false,
    deeds: [ALL_KILLED, { what: "file locked by another program", attempt: (stage) => holdLock(path, stage) }, ...diskFull(disk)],
    untried: disk === null ? [NO_SMALL_DISK] : [],
    reach: async () => url,
    heal: async () => disk?.free(),
    stop: async () => {},
  };
}

/** Somebody else writes to the file and takes their time. Nobody can write meanwhile: that is what SQLite's lock is. */
async function holdLock(path: string, { random }: Stage): Promise<boolean> {
  const other = new DatabaseSync(path, { timeout: LOCK_WITHIN_MS });
  try {
    other.exec("begin immediate");
    await sleep(random.int(200, 2 * LEASE_MS));
    other.exec("rollback");
    return true;
  } catch (error) {
    if (/database is locked/.test(String(error))) return false;
    throw error;
  } finally {
    other.close();
  }
}
