import { execFileSync } from "node:child_process";
import { mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Guard } from "./guard.ts";

const ROOMY = "1g";
const TRIES = 20;

/** A disk of its own that can become full and roomy again. It is made of memory and takes no more of it than is stored there. */
export class SmallDisk {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Null where this process may not mount one: that takes root, and a system that has tmpfs. */
  static mount(guard: Guard): SmallDisk | null {
    const path = mkdtempSync(join(tmpdir(), "millrace-small-disk-"));
    guard.add("folder", path);
    try {
      mount(["-t", "tmpfs", "-o", `size=${ROOMY},mode=1777`, "millrace-torture", path]);
    } catch {
      return null;
    }
    guard.forget("folder", path);
    guard.add("mount", path);
    return new SmallDisk(path);
  }

  /** Hardly one more page fits. False when it grew all the time, so that it could not be made that small. */
  fill(): boolean {
    for (let spare = 0; spare < TRIES; spare++) {
      const { blocks, bfree, bsize } = statfsSync(this.path);
      try {
        this.#resize(String((blocks - bfree + spare) * bsize));
        return true;
      } catch {
        // Somebody wrote in between: less than there is on it cannot be.
      }
    }
    return false;
  }

  free(): void {
    this.#resize(ROOMY);
  }

  #resize(size: string): void {
    mount(["-o", `remount,size=${size}`, this.path]);
  }
}

function mount(args: readonly string[]): void {
  execFileSync("mount", args, { stdio: "ignore" });
}
