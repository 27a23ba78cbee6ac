/**
 * Loaded before a program (with --expose-gc): tells its parent, when asked over their channel, what the process holds after a forced collection.
 * Threads have heaps of their own, and are part of the resident memory only.
 */
import { isMainThread } from "node:worker_threads";
import type { Holding } from "./soaked-process.ts";

if (isMainThread && process.send !== undefined) {
  process.on("message", () => {
    // Twice: what the first one finalizes, the second one frees.
    globalThis.gc!();
    globalThis.gc!();
    const { heapUsed, rss } = process.memoryUsage();
    const holding: Holding = { heap: heapUsed, rss, handles: process.getActiveResourcesInfo().length };
    process.send!(holding);
  });
  // To be asked is no reason to stay, and when nobody is left who could ask, there is none at all.
  process.channel!.unref();
  process.on("disconnect", () => process.exit(1));
}
