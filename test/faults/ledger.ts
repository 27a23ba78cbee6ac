import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** What producers and workers write down about themselves, as it happens. `at` is the machine's time. */
export type LedgerLine = { readonly at: number } & (
  | { readonly op: "accepted"; readonly number: number; readonly id: string }
  /** The store did not answer in time: the job may be there or not. */
  | { readonly op: "unknown"; readonly number: number }
  | { readonly op: "ready"; readonly worker: string }
  | { readonly op: "start" | "end"; readonly id: string; readonly attempt: number; readonly fence: number }
);

/** A line before it has its time. */
type Note = LedgerLine extends infer Line ? (Line extends LedgerLine ? Omit<Line, "at"> : never) : never;

/** Where lines go. */
export interface Ledger {
  note(line: Note): void;
}

/** A ledger that all processes of a test write. Each line is one `write` with O_APPEND, so that a SIGKILL loses nothing that was written. */
export function fileLedger(path: string): Ledger {
  return { note: (line) => appendFileSync(path, `${JSON.stringify({ at: Date.now(), ...line })}\n`) };
}

/** Reads what was written; a last line that a kill has cut off is left out. */
export function readLedger(path: string): LedgerLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as LedgerLine);
}

/** A ledger of this process. */
export class MemoryLedger implements Ledger {
  readonly lines: LedgerLine[] = [];

  note(line: Note): void {
    this.lines.push({ at: Date.now(), ...line });
  }

  count(op: LedgerLine["op"]): number {
    return this.lines.filter((line) => line.op === op).length;
  }
}
