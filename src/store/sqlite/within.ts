import { realpathSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../../core/errors.ts";
import { NODES_THAT_SHARE_SQLITE } from "../../core/node-version.ts";
import type { Clock } from "../../lib/clock.ts";
import type { TransactionVerbs } from "../store.ts";
import { Catalog } from "./catalog.ts";
import { Connection } from "./connection.ts";
import { fileOf, isBetterSqlite3, isDatabase, TWO_LIBRARIES } from "./database.ts";
import { settleJob, writeNote } from "./exchange.ts";
import { FileTime } from "./file-time.ts";
import { insertJob } from "./insert.ts";
import { Counts } from "./counters.ts";
import { LineMemory } from "./lines.ts";
import { NOTICES_TOPIC, topicOf } from "./writer.ts";
import { RAISE_SIGNAL } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

export interface CallersTransactionsOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly shareable: boolean;
  /** The application's own connection, if the store works on it. */
  readonly given: DatabaseSync | null;
  /** Called with each call on that connection: its commit changes no data_version there. */
  readonly onGiven: () => void;
  /** Called when notices were stored that the caller has not committed yet. */
  readonly onNotices: () => void;
}

/**
 * Our verbs inside the caller's own transaction, on the caller's own connection to the same file. Nothing is retried or remembered, because
 * the caller may roll back. All processes, this one included, notice the commit by its change of data_version.
 */
export class CallersTransactions {
  readonly #options: CallersTransactionsOptions;
  readonly #connections = new WeakMap<DatabaseSync, Connection>();

  constructor(options: CallersTransactionsOptions) {
    this.#options = options;
  }

  verbs(tx: unknown): TransactionVerbs {
    const on = this.#connection(tx);
    return {
      insert: async (jobs) => this.#run(on, (inside) => jobs.map((job) => insertJob(inside, job))),
      settle: async (settlements) => this.#run(on, (inside) => settlements.map((settlement) => settleJob(inside, settlement))),
      note: async (notes) => this.#run(on, (inside) => notes.map((note) => writeNote(inside, note))),
    };
  }

  #run<Answer>(on: Connection, work: (tx: Transaction) => Answer): Answer {
    const topics = new Set<string>();
    const counts = new Counts();
    const tx: Transaction = {
      on,
      now: new FileTime(on, this.#options.clock).take(),
      catalog: new Catalog(on),
      counts,
      lines: new LineMemory(),
      granted: null,
      sendHint: (hint) => topics.add(topicOf(hint)),
    };
    const answer = work(tx);
    counts.write(on, tx.now);
    if (topics.delete(NOTICES_TOPIC)) this.#options.onNotices();
    for (const topic of topics) on.run(RAISE_SIGNAL, topic);
    if (on.db === this.#options.given) this.#options.onGiven();
    return answer;
  }

  #connection(tx: unknown): Connection {
    if (!isDatabase(tx)) {
      const reason = isBetterSqlite3(tx) ? `. ${TWO_LIBRARIES}` : "";
      throw new MillraceError("invalid_transaction", `tx must be a DatabaseSync of node:sqlite with an open transaction${reason}`, {
        field: "tx",
      });
    }
    if (!tx.isTransaction) {
      throw new MillraceError("invalid_transaction", 'tx has no open transaction: run "begin immediate" on it first', { field: "tx" });
    }
    const isGiven = tx === this.#options.given;
    if (!isGiven && !this.#options.shareable) {
      throw new MillraceError(
        "unsupported_store",
        `tx is a second connection to the file, which this version of SQLite does not support safely: install ${NODES_THAT_SHARE_SQLITE}`,
        { field: "tx" },
      );
    }
    let connection = this.#connections.get(tx);
    if (connection === undefined || !connection.isAlive) {
      connection = new Connection(tx);
      if (!isGiven) this.#refuseOtherFile(connection);
      this.#connections.set(tx, connection);
    }
    return connection;
  }

  #refuseOtherFile(on: Connection): void {
    const file = fileOf(on);
    const { path } = this.#options;
    if (file === "" || realpathSync(file) !== realpathSync(path)) {
      throw new MillraceError("invalid_transaction", `tx is a transaction on ${file || "an in-memory database"}, not on ${path}`, {
        field: "tx",
      });
    }
  }
}
