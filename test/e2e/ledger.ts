import { existsSync, readFileSync } from "node:fs";

export interface LedgerLine {
  readonly op: "accepted" | "ready" | "start" | "end";
  readonly pid: number;
  readonly id: string;
  readonly attempt: number;
  readonly fence: number;
  readonly number: number;
  readonly worker: string;
}

/** What processes wrote about themselves; a last line that was cut off by a kill is left out. */
export function readLedger(path: string): LedgerLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as LedgerLine);
}
