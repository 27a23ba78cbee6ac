import { MillraceError } from "../../core/errors.ts";
import type { Session } from "./session.ts";

export const OLDEST = "6.2";

/**
 * Looks whether this server can be trusted with jobs. One that evicts keys when its memory is full drops jobs and leases without a word, so it
 * is refused; also one that evicts only keys with a time to live, because idempotency keys have one. A server that does not tell (INFO forbidden to this user) is taken with a warning.
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

/** What is wrong if this server evicts keys, else null. */
export function evictionIn(info: string): MillraceError | null {
  const policy = infoField(info, "maxmemory_policy");
  if (policy === undefined || policy === "noeviction") return null;
  const message = `this Redis evicts keys when its memory is full (maxmemory-policy ${policy}), and would drop jobs or idempotency keys: run "CONFIG SET maxmemory-policy noeviction"`;
  return new MillraceError("unsupported_store", message);
}

/** What each master says of itself; nothing, and a warning, where this user may not ask. */
export async function readInfo(session: Session, warn: (message: string) => void): Promise<string[]> {
  try {
    return await session.persist(() => session.driver.info(), "info");
  } catch (error) {
    if (!(error instanceof MillraceError && isForbidden(error.cause))) throw error;
    warn("this Redis user may not run INFO, so its version and maxmemory-policy are not known: make sure that the policy is noeviction");
    return [];
  }
}

/** Whether the server says that this user may not do that. */
export function isForbidden(error: unknown): boolean {
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
