/** NOTICES that jobs leave for each other, and for flows: see "Jobs do durable work" in store.ts. */
import type { Notice } from "../../core/steps.ts";
import type { StoredNotice } from "../store.ts";
import { ADD_NOTICE, DROP_NOTICES, FIRST_NOTICES } from "./step-statements.ts";
import type { Transaction, View } from "./transaction.ts";

export function leaveNotice(tx: Transaction, notice: Notice): void {
  tx.on.run(ADD_NOTICE, JSON.stringify(notice));
  tx.sendHint({ topic: "notices" });
}

export function firstNotices({ on }: View, limit: number, except: readonly string[] = []): StoredNotice[] {
  const rows = on.all(FIRST_NOTICES, JSON.stringify(except.map(Number)), limit) as [number, string][];
  return rows.map(([number, text]) => ({ key: String(number), notice: JSON.parse(text) as Notice }));
}

export function dropNotices({ on }: Transaction, keys: readonly string[]): void {
  on.run(DROP_NOTICES, JSON.stringify(keys.map(Number)));
}
