import { setTimeout as sleep } from "node:timers/promises";
import { type Deed, storeDeed } from "../deed.ts";
import type { SmallDisk } from "../small-disk.ts";
import { isRefused } from "./refusals.ts";

export const NO_SMALL_DISK = "disk full: it takes root, to mount a small disk";

/** A full disk refuses what needs space; what was accepted stays. */
export function diskFull(disk: SmallDisk | null): Deed[] {
  if (disk === null) return [];
  const attempt: Deed["attempt"] = async (stage) => {
    if (!disk.fill()) return false;
    try {
      const isDone = await isRefused(stage);
      await sleep(stage.random.int(100, 1_000));
      return isDone;
    } finally {
      disk.free();
    }
  };
  return [storeDeed("disk full", attempt)];
}
