import { MillraceError } from "../../core/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { Loop } from "../../lib/loop.ts";
import type { Driver } from "./driver.ts";
import type { Session } from "./session.ts";

export const OLDEST = "6.2";

/**
 * Checks whether this server can be trusted with jobs. One that evicts keys when its memory is full would silently drop jobs and leases, so
 * it is refused; also if it evicts only keys with a time to live, because idempotency keys have one. If this user may not run INFO, it only
 * warns.
 */
export async function checkServer(session: Session, warn: (message: string) => void): Promise<void> {
  for (const info of await readInfo(session, warn)) {
    const version = infoField(info, "redis_version");
    if (version !== undefined && isOlder(version, OLDEST)) {
      throw new MillraceError("unsupported_store", `Redis ${version} is too old: Millrace needs Redis ${OLDEST} or newer, or Valkey`);
    }
    const eviction = evictionIn(info);
    if (eviction !== null) throw eviction;
  }
}

/** The error if this server evicts keys, else null. */
function evictionIn(info: string): MillraceError | null {
  const policy = infoField(info, "maxmemory_policy");
  if (policy === undefined || policy === "noeviction") return null;
  const message = `this Redis evicts keys when its memory is full (maxmemory-policy ${policy}), and would drop jobs or idempotency keys. Run "CONFIG SET maxmemory-policy noeviction"`;
  return new MillraceError("unsupported_store", message);
}

/** The INFO of each master; if this user may not ask, nothing and a warning. */
export async function readInfo(session: Session, warn: (message: string) => void): Promise<string[]> {
  try {
    return await session.withRetries(() => session.driver.info(), "info");
  } catch (error) {
    if (!(error instanceof MillraceError && isForbidden(error.cause))) throw error;
    warn("this Redis user may not run INFO, so the version and maxmemory-policy are unknown. Make sure that the policy is noeviction");
    return [];
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOPERM");
}

export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
}

export function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [needMajor = 0, needMinor = 0] = than.split(".").map(Number);
  return major < needMajor || (major === needMajor && minor < needMinor);
}

const LOOK_MS = 60_000;
/** While it evicts, no new jobs are taken, so the fix should be noticed soon. */
const LOOK_AGAIN_MS = 5_000;

/**
 * WHETHER THE SERVER EVICTS KEYS, checked after each reconnect (it may be another server) and once a minute (somebody may have changed it).
 * While it does, nothing is inserted and nothing is claimed: an accepted job could be dropped silently. Running jobs may still be
 * reported.
 */
export class EvictionWatch {
  readonly #driver: Driver;
  readonly #warn: (message: string) => void;
  readonly #loop: Loop;
  #eviction: MillraceError | null = null;

  constructor(driver: Driver, clock: Clock, warn: (message: string) => void) {
    this.#driver = driver;
    this.#warn = warn;
    this.#loop = new Loop({ clock, turn: () => this.#look(), onError: restAfter });
    driver.onReady(() => this.#loop.wake());
  }

  /** Opening the store has checked it, so this begins with a rest. */
  start(): void {
    this.#loop.start({ restMs: LOOK_MS });
  }

  /** Throws while the server evicts keys. */
  refuse(): void {
    if (this.#eviction !== null) throw this.#eviction;
  }

  stop(): void {
    void this.#loop.stop();
  }

  async #look(): Promise<number> {
    const found = (await this.#driver.info()).map(evictionIn).find((eviction) => eviction !== null) ?? null;
    if (found !== null && this.#eviction === null) this.#warn(found.message);
    this.#eviction = found;
    return found === null ? LOOK_MS : LOOK_AGAIN_MS;
  }
}

/** A user without the permission was warned at the start, and a fix is not expected soon: ask as rarely as on a healthy server. */
function restAfter(error: unknown): number {
  return isForbidden(error) ? LOOK_MS : LOOK_AGAIN_MS;
}
