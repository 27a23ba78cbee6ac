import { MillraceError } from "../../core/errors.ts";

export interface PostgresAddress {
  /** What the driver is given: the URL without what only we understand. */
  readonly connectionString: string;
  readonly schema: string;
  /** For messages: where it is, and never a password. */
  readonly place: string;
}

const DEFAULT_SCHEMA = "millrace";
/** A plain identifier: it needs no quotes in SQL, so it can stand in every statement, and is short enough not to be cut. */
const PLAIN = /^[a-z_][a-z0-9_]{0,62}$/;

/** Reads `postgres://user:password@host:5432/database?schema=name`; all other parameters are the driver's. */
export function parsePostgresUrl(url: string): PostgresAddress {
  const parsed = URL.parse(url);
  if (parsed === null || !/^postgres(ql)?:\/\//i.test(url)) {
    throw new MillraceError("invalid_input", "url must look like postgres://user:password@host:5432/database", { field: "url" });
  }
  const schema = parsed.searchParams.get("schema") ?? DEFAULT_SCHEMA;
  if (!PLAIN.test(schema) || schema.startsWith("pg_")) {
    throw new MillraceError("invalid_input", "schema in the url must be a name of a-z, 0-9 and _, at most 63, not beginning with pg_", {
      field: "url",
    });
  }
  parsed.searchParams.delete("schema");
  const host = parsed.searchParams.get("host") ?? (parsed.hostname || "localhost");
  return { connectionString: parsed.href, schema, place: `${host}:${parsed.port || "5432"}${parsed.pathname}` };
}
