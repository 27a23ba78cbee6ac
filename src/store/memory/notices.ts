/** NOTICES that jobs leave for each other, and for flows: see "Jobs do durable work" in store.ts. */
import { MAX_STEPS_READ_BYTES, type Notice } from "../../core/steps.ts";
import type { StoredNotice } from "../store.ts";
import type { Context } from "./context.ts";

export function leaveNotice({ notices, feed }: Context, notice: Notice): void {
  notices.add(notice);
  feed.sendHint("notices");
}

/** The bytes of its one large part. */
function bytesOf(notice: Notice): number {
  if (notice.kind === "end") return Buffer.byteLength(notice.end.value ?? "");
  return notice.kind === "insert" ? Buffer.byteLength(notice.job.payload) : 0;
}

/** Notices in the order in which they came. */
export class Notices {
  readonly #byKey = new Map<string, Notice>();
  #last = 0;

  add(notice: Notice): void {
    this.#byKey.set(String(++this.#last), structuredClone(notice));
  }

  first(limit: number, except: readonly string[] = []): StoredNotice[] {
    const leftOut = new Set(except);
    const first: StoredNotice[] = [];
    let bytes = 0;
    for (const [key, notice] of this.#byKey) {
      if (leftOut.has(key)) continue;
      bytes += bytesOf(notice);
      if (first.length === limit || (first.length > 0 && bytes > MAX_STEPS_READ_BYTES)) break;
      first.push({ key, notice: structuredClone(notice) });
    }
    return first;
  }

  drop(keys: readonly string[]): void {
    for (const key of keys) this.#byKey.delete(key);
  }
}
