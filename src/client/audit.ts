/** WRITES AND READS THE AUDIT. An entry is written once the change is made, so a failure to write it does not fail the call. */
import { type AuditEntry, type AuditPage, MAX_AUDIT_ENTRIES, type NewAuditEntry, readAuditQuery } from "../core/audit.ts";
import { messageOf } from "../core/errors.ts";
import { MAX_PAGE } from "../core/filter.ts";
import type { OnTrouble } from "../core/trouble.ts";
import type { Store } from "../store/store.ts";

/** Writes entries; never fails. */
export type WriteAudit = (entries: readonly NewAuditEntry[]) => Promise<void>;

export function auditWriter(store: Pick<Store, "writeAudit">, onTrouble: OnTrouble | undefined): WriteAudit {
  return async (entries) => {
    if (entries.length === 0) return;
    try {
      await store.writeAudit(entries);
    } catch (error) {
      onTrouble?.({ kind: "audit", message: `a change was made, but could not be written to the audit: ${messageOf(error)}`, error });
    }
  };
}

/** Reads on until the page is full or the audit ends: it is short, and most entries are asked for. */
export async function listAudit(store: Pick<Store, "readAudit">, input: unknown): Promise<AuditPage> {
  const { before, limit, matches } = readAuditQuery(input);
  const entries: AuditEntry[] = [];
  let from = before;
  for (let read = 0; read <= MAX_AUDIT_ENTRIES; read += MAX_PAGE) {
    const page = await store.readAudit(from, MAX_PAGE);
    for (const entry of page) {
      from = entry.number;
      if (matches(entry)) entries.push(entry);
      if (entries.length === limit) return { entries, cursor: String(from) };
    }
    if (page.length < MAX_PAGE) break;
  }
  return { entries, cursor: null };
}
