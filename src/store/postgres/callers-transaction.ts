/**
 * WHAT APPLICATIONS HAVE DURING THEIR TRANSACTION. No adapter imports a package: each looks at the object. Where a library can tell, an object
 * without an open transaction is refused: the job would be committed at once, whatever becomes of the rest.
 */
import { MillraceError } from "../../core/errors.ts";
import type { QueryTransaction } from "../../core/query-transaction.ts";

/** A transaction that the application opened. */
export interface CallersTransaction {
  query(text: string, values: readonly unknown[]): Promise<Rows>;
}

type Rows = readonly Record<string, unknown>[];

const WHAT = "a pg client, a transaction of Drizzle, Kysely, Knex, Prisma, TypeORM or postgres.js, or anything with query(text, values)";

/** Accepts what an application has during its transaction. Throws `invalid_transaction`. */
export function openTransaction(tx: unknown, database: string): CallersTransaction {
  if ((typeof tx !== "object" && typeof tx !== "function") || tx === null) throw refused(`tx must be ${WHAT}`);
  if (isKysely(tx)) return overKysely(tx);
  if (has(tx, "$queryRawUnsafe")) return overPrisma(tx as unknown as Prisma);
  if (has(tx, "raw")) return overKnex(tx as unknown as Knex);
  const client = drizzleClient(tx) ?? tx;
  if (has(client, "unsafe")) return overPostgresJs(client as unknown as PostgresJs);
  if (has(client, "query")) return overQuery(client as unknown as QueryObject, database);
  throw refused(`tx must be ${WHAT}`);
}

// ── pg, TypeORM, and anything with query(text, values) ──────────────────────────────────────────────────────────────────────────────

interface QueryObject extends QueryTransaction {
  /** pg. */
  readonly database?: unknown;
  getTransactionStatus?(): string | null;
  /** TypeORM: a QueryRunner has the first, an EntityManager the second. */
  readonly isTransactionActive?: boolean;
  readonly queryRunner?: { readonly isTransactionActive?: boolean } | undefined;
}

function overQuery(client: QueryObject, database: string): CallersTransaction {
  refuseNoTransaction(client);
  if (typeof client.database === "string" && client.database !== database) {
    throw refused(`tx is a transaction on the database ${client.database}, not on ${database}`);
  }
  return {
    async query(text, values) {
      const answer = await client.query(text, [...values]);
      return "rows" in answer ? answer.rows : answer;
    },
  };
}

function refuseNoTransaction(client: QueryObject): void {
  if ("totalCount" in client && "connect" in client) {
    throw refused("tx is a pool, where every query is its own transaction: take a client from it and begin one");
  }
  const status = client.getTransactionStatus?.();
  if (status === "I") throw refused('tx has no open transaction: run "begin" on it first');
  if (status === "E") throw refused("tx has already failed and can only be rolled back");
  const isTypeOrm = "isTransactionActive" in client || (has(client, "transaction") && has(client, "getRepository"));
  const isOpen = client.isTransactionActive ?? client.queryRunner?.isTransactionActive ?? false;
  if (isTypeOrm && !isOpen) throw refused("tx has no open transaction: take it from dataSource.transaction(async (tx) => …)");
}

// ── Others ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Prisma {
  $queryRawUnsafe(text: string, ...values: unknown[]): Promise<Rows>;
}

/** Only the client itself connects; the one of a transaction does not. */
function overPrisma(tx: Prisma): CallersTransaction {
  if (has(tx, "$connect")) throw refused("tx is not a Prisma transaction: take it from prisma.$transaction(async (tx) => …)");
  return { query: (text, values) => tx.$queryRawUnsafe(text, ...values) };
}

interface Knex {
  readonly isTransaction?: boolean;
  isCompleted?(): boolean;
  raw(text: string, values: readonly unknown[]): Promise<{ rows: Rows }>;
}

/** Knex numbers its parameters itself: `?` in their order. */
function overKnex(tx: Knex): CallersTransaction {
  if (tx.isTransaction !== true || tx.isCompleted?.() === true) {
    throw refused("tx is not an open Knex transaction: take it from knex.transaction(async (tx) => …)");
  }
  return {
    async query(text, values) {
      const inOrder: unknown[] = [];
      const numbered = text.replaceAll("?", "\\?").replace(/\$(\d+)/g, (_, number: string) => {
        inOrder.push(values[Number(number) - 1]);
        return "?";
      });
      return (await tx.raw(numbered, inOrder)).rows;
    },
  };
}

interface PostgresJs {
  unsafe(text: string, values: readonly unknown[]): Promise<Rows>;
}

/** Only a transaction has savepoints; a reserved connection, which has `release`, may have one that was begun by hand. */
function overPostgresJs(tx: PostgresJs): CallersTransaction {
  if (!has(tx, "savepoint") && !has(tx, "release")) {
    throw refused("tx is not a transaction of postgres.js: take it from sql.begin(async (tx) => …)");
  }
  return { query: (text, values) => tx.unsafe(text, values) };
}

interface Kysely {
  readonly isTransaction: boolean;
  executeQuery(query: object): Promise<{ rows: Rows }>;
}

function isKysely(tx: object): tx is Kysely {
  return has(tx, "executeQuery") && "isTransaction" in tx;
}

function overKysely(tx: Kysely): CallersTransaction {
  if (!tx.isTransaction) throw refused("tx is not a Kysely transaction: take it from db.transaction().execute(async (tx) => …)");
  return {
    async query(text, parameters) {
      const query = { kind: "RawNode", sqlFragments: [text], parameters: [] };
      return (await tx.executeQuery({ sql: text, parameters, query, queryId: { queryId: "millrace" } })).rows;
    },
  };
}

/** Drizzle keeps the client of its transaction in its session: one of pg or of postgres.js. */
function drizzleClient(tx: object): object | null {
  const session = "session" in tx ? tx.session : null;
  const client = typeof session === "object" && session !== null && "client" in session ? session.client : null;
  return typeof client === "object" || typeof client === "function" ? client : null;
}

function has(tx: object, method: string): boolean {
  return typeof (tx as Record<string, unknown>)[method] === "function";
}

function refused(message: string): MillraceError {
  return new MillraceError("invalid_transaction", message, { field: "tx" });
}
