/** LIMITS BY KEY: gives single limit keys limits of their own, and reads how much of all limits is used. */
import { auditEntry, detailsOf } from "../core/audit.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { MAX_CURSOR_LENGTH, MAX_PAGE } from "../core/filter.ts";
import { readQueue } from "../core/job-options.ts";
import { effectiveOf, nextByRate } from "../core/limit-obstacles.ts";
import {
  BUSIEST_KEYS,
  decodeKeyLimits,
  decodeLimits,
  MAX_ASKED_KEYS,
  type QueueLimits,
  readOneKeyLimits,
  shownEffective,
  shownKeyLimits,
  shownLimits,
} from "../core/limits.ts";
import { type Actor, CHANGE_OPTIONS, readActor } from "../core/manual-change.ts";
import { demandInteger } from "../core/read-fields.ts";
import { readLimitKey } from "../core/read-text.ts";
import type { KeyUse, Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import type { KeyLimitUse, Limits, QueueLimitUse } from "./client.ts";
import { demandQueue, readChangeOptions } from "./queues.ts";
import { readOptions } from "./refusals.ts";

/** How many keys a page lists unless the caller says. */
const USUAL_PAGE = 100;

export function createLimits(parts: ClientParts): Limits {
  const { store } = parts;
  return {
    async set(queue, key, limits, options) {
      readQueue(queue);
      const named = readKey(key);
      const stored = readOneKeyLimits(limits, named);
      const { create, actor } = readChangeOptions(parts, options, true);
      await demandQueue(store, queue, create);
      await change(parts, queue, named, stored, actor, limits);
    },

    async get(queue, key) {
      const stored = await storedLimits(store, readQueue(queue), readKey(key));
      return stored === null ? null : shownKeyLimits(decodeKeyLimits(stored));
    },

    async list(queue, page) {
      const { limit = USUAL_PAGE, cursor } = readOptions(page, "a list of limits", ["limit", "cursor"]);
      const most = demandInteger(limit, "limit", 1, MAX_PAGE);
      // One more, to know whether there is another page.
      const found = await store.keyLimits(readQueue(queue), readCursor(cursor), most + 1);
      const keys = found.slice(0, most).map(({ key, limits }) => ({ key, limits: shownKeyLimits(decodeKeyLimits(limits)) }));
      return { keys, cursor: found.length > most ? cursorAfter(keys.at(-1)!.key) : null };
    },

    async remove(queue, key, options) {
      const actor = readActor(readOptions(options, "the options of a change", CHANGE_OPTIONS), parts.actor);
      return change(parts, readQueue(queue), readKey(key), null, actor, {});
    },

    use: (queue, options) => readUse(store, queue, options),
  };
}

/** Null means the jobs without a key. */
function readKey(key: unknown): string | null {
  return key === null ? null : readLimitKey(key, "key");
}

/** Writes the limits of a key if they are others than before. Returns whether they are: a repeat is no news, and no entry of the audit. */
async function change(
  { store, writeAudit }: ClientParts,
  queue: string,
  key: string | null,
  limits: string | null,
  actor: Actor,
  given: object,
): Promise<boolean> {
  if ((await storedLimits(store, queue, key)) === limits) return false;
  await store.setKeyLimits(queue, key, limits);
  const details = detailsOf({ key, ...(limits === null ? {} : given) });
  await writeAudit([auditEntry(limits === null ? "limits:removed" : "limits:set", actor, { queue, details })]);
  return true;
}

async function storedLimits(store: Store, queue: string, key: string | null): Promise<string | null> {
  if (key !== null) return (await store.limitUse(queue, [key]))?.keys[0]?.limits ?? null;
  // They come first.
  const [first] = await store.keyLimits(queue, undefined, 1);
  return first?.key === null ? first.limits : null;
}

// ── Pages ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The cursor after the jobs without a key. No key in base64url is like it. */
const AFTER_NO_KEY = ".";

function cursorAfter(key: string | null): string {
  return key === null ? AFTER_NO_KEY : Buffer.from(key).toString("base64url");
}

/** The key that the last page ended with; undefined for the first page. */
function readCursor(cursor: unknown): string | null | undefined {
  if (cursor === undefined || cursor === null) return undefined;
  if (cursor === AFTER_NO_KEY) return null;
  const key = typeof cursor === "string" && cursor.length <= MAX_CURSOR_LENGTH ? Buffer.from(cursor, "base64url").toString() : "";
  if (key === "" || cursorAfter(key) !== cursor) {
    throw new MillraceError("invalid_cursor", "cursor must be one that this list returned", { field: "cursor" });
  }
  return key;
}

// ── Use ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function readUse(store: Store, queue: unknown, options: unknown): Promise<QueueLimitUse | null> {
  const name = readQueue(queue);
  const keys = readKeys(readOptions(options, "the options of use", ["keys"]).keys);
  const [queues, used] = await Promise.all([store.queues(), store.limitUse(name, keys ?? [])]);
  const settings = queues.find((each) => each.name === name)?.settings;
  if (settings === undefined || used === null) return null;
  const limits = decodeLimits(settings.limits);
  const { now } = used;
  const found = keys === null ? await store.busiestKeys(name, BUSIEST_KEYS) : used.keys;
  return {
    queue: name,
    limits: shownLimits(settings.limits),
    running: used.running,
    nextStartAt: nextByRate(limits.rate, used.rate, 1, now),
    keys: found.map((key) => toKeyUse(limits, key, now)),
  };
}

function readKeys(keys: unknown): string[] | null {
  if (keys === undefined || keys === null) return null;
  if (!Array.isArray(keys) || keys.length > MAX_ASKED_KEYS) throw invalid("keys", `a list of at most ${MAX_ASKED_KEYS} limit keys`, keys);
  return keys.map((key, index) => readLimitKey(key, `keys[${index}]`));
}

function toKeyUse(queue: QueueLimits, used: KeyUse, now: number): KeyLimitUse {
  const limits = effectiveOf(queue, used);
  const byRate = nextByRate(limits.rate, used.rate, 1, now);
  const heldUntil = used.heldUntil !== null && used.heldUntil > now ? used.heldUntil : null;
  return {
    key: used.key,
    running: used.running,
    waiting: used.waiting,
    limits: shownEffective(limits),
    own: used.limits === null ? null : shownKeyLimits(decodeKeyLimits(used.limits)),
    heldUntil,
    nextStartAt: heldUntil === null ? byRate : Math.max(heldUntil, byRate ?? heldUntil),
    holders: used.holders,
  };
}
