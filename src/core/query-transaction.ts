import { MillraceError } from "./errors.ts";

type Rows = readonly Record<string, unknown>[];

/**
 * An open transaction on PostgreSQL in its simplest form, for a driver that Millrace does not know: `query` runs one statement with `$1`, `$2` …
 * inside it, and returns the rows as objects by column name, alone or as `{ rows }`. The values are texts, numbers, booleans and nulls.
 */
export interface QueryTransaction {
  query(text: string, values: unknown[]): Promise<Rows | { readonly rows: Rows }>;
}

/** Whether a call has a transaction. Null is refused: it is a variable that was not set, and the job would be stored without its transaction. */
export function hasTransaction(tx: unknown): boolean {
  if (tx !== null) return tx !== undefined;
  const message = "tx is null: is the variable with your open transaction set? Leave tx out to enqueue without a transaction";
  throw new MillraceError("invalid_transaction", message, { field: "tx" });
}
