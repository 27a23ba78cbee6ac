import { MillraceError } from "../../core/errors.ts";

export interface PostgresAddress {
  /** The URL for the driver, without our own parameters. */
  readonly connectionString: string;
  readonly schema: string;
  /** Host, port and database, for messages; never a password. */
  readonly place: string;
}

const DEFAULT_SCHEMA = "millrace";
/** An identifier that needs no quotes in SQL and is short enough not to be cut. */
const PLAIN = /^[a-z_][a-z0-9_]{0,62}$/;

/** Reads `postgres://user:password@host:5432/database?schema=name`; all other parameters go to the driver. */
export function parsePostgresUrl(url: string): PostgresAddress {
  const parsed = URL.parse(url);
  if (parsed === null || !/^postgres(ql)?:\/\//i.test(url)) {
    throw new MillraceError("invalid_input", "url must look like postgres://user:password@host:5432/database", { field: "url" });
  }
  const schema = readSchema(parsed.searchParams.get("schema") ?? undefined, "url");
  parsed.searchParams.delete("schema");
  const host = parsed.searchParams.get("host") ?? (parsed.hostname || "localhost");
  return { connectionString: parsed.href, schema, place: `${host}:${parsed.port || "5432"}${parsed.pathname}` };
}

/** The schema of the tables. `field` is where it was given. */
export function readSchema(schema: unknown, field: "url" | "schema"): string {
  if (schema === undefined) return DEFAULT_SCHEMA;
  if (typeof schema === "string" && PLAIN.test(schema) && !schema.startsWith("pg_")) return schema;
  const name = field === "url" ? "schema in the url" : "schema";
  const message = `${name} must have at most 63 characters of a-z, 0-9 and _, and not begin with a digit or pg_`;
  throw new MillraceError("invalid_input", message, { field });
}
