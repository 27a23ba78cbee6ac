import { MillraceError } from "../../core/errors.ts";

/** A transaction that the application opened by itself. */
export interface CallersTransaction {
  query(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

/** What a client of `pg` tells of itself. */
interface PgClient {
  query(text: string, values: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  readonly database?: string;
  getTransactionStatus?(): string | null;
}

/** What we use of Kysely. */
interface KyselyTransaction {
  readonly isTransaction: boolean;
  executeQuery(query: object): Promise<{ rows: Record<string, unknown>[] }>;
}

const WHAT = "a client of pg, a transaction of Drizzle or Kysely, or anything with query(text, values)";

/**
 * Takes what an application has in hand while its transaction is open. No adapter imports another package: each looks at what is there.
 */
export function openTransaction(tx: unknown, database: string): CallersTransaction {
  if (typeof tx !== "object" || tx === null) throw refused(`tx must be ${WHAT}`);
  if (isKysely(tx)) return overKysely(tx);
  const client = drizzleClient(tx) ?? tx;
  if (!hasQuery(client)) throw refused(`tx must be ${WHAT}`);
  if ("totalCount" in client && "connect" in client) {
    throw refused("tx is a pool, whose every query is a transaction of its own: take a client from it and begin one");
  }
  refuseNoTransaction(client);
  if (typeof client.database === "string" && client.database !== database) {
    throw refused(`tx is a transaction on the database ${client.database}, not on ${database}`);
  }
  return { query: async (text, values) => rowsOf(await client.query(text, [...values])) };
}

function refuseNoTransaction(client: PgClient): void {
  const status = client.getTransactionStatus?.();
  if (status === "I") throw refused('tx has no open transaction: run "begin" on it first');
  if (status === "E") throw refused("tx has failed already and can only be rolled back");
}

function rowsOf(answer: unknown): Record<string, unknown>[] {
  return Array.isArray(answer) ? (answer as Record<string, unknown>[]) : (answer as { rows: Record<string, unknown>[] }).rows;
}

function hasQuery(tx: object): tx is PgClient {
  return "query" in tx && typeof tx.query === "function";
}

/** Drizzle keeps the client of its transaction in its session. */
function drizzleClient(tx: object): object | null {
  const session = "session" in tx ? tx.session : null;
  const client = typeof session === "object" && session !== null && "client" in session ? session.client : null;
  return typeof client === "object" ? client : null;
}

function isKysely(tx: object): tx is KyselyTransaction {
  return "executeQuery" in tx && typeof tx.executeQuery === "function" && "isTransaction" in tx;
}

function overKysely(tx: KyselyTransaction): CallersTransaction {
  if (!tx.isTransaction) throw refused("tx is no transaction of Kysely: take it from db.transaction().execute(async (tx) => …)");
  return {
    async query(text, parameters) {
      const query = { kind: "RawNode", sqlFragments: [text], parameters: [] };
      return (await tx.executeQuery({ sql: text, parameters, query, queryId: { queryId: "millrace" } })).rows;
    },
  };
}

function refused(message: string): MillraceError {
  return new MillraceError("invalid_transaction", message, { field: "tx" });
}
