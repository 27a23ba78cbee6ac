type Rows = readonly Record<string, unknown>[];

/**
 * An open transaction on PostgreSQL in its simplest form, for a driver that Millrace does not know: `query` runs one statement with `$1`, `$2` …
 * inside it, and returns the rows as objects by column name, alone or as `{ rows }`. The values are texts, numbers, booleans and nulls.
 */
export interface QueryTransaction {
  query(text: string, values: unknown[]): Promise<Rows | { readonly rows: Rows }>;
}
