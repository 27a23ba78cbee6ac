import { realpathSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../../core/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { TransactionVerbs } from "../store.ts";
import { Catalog } from "./catalog.ts";
import { Connection } from "./connection.ts";
import { settleJob } from "./exchange.ts";
import { FileTime } from "./file-time.ts";
import { insertJob } from "./insert.ts";
import { Counts } from "./counters.ts";
import { topicOf } from "./writer.ts";
import { RAISE_SIGNAL } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Our verbs inside the caller's own transaction, on the caller's own connection to the same file. Nothing is retried or remembered, because
 * the caller may roll back. All processes, this one included, notice the commit by its change of data_version.
 */
export class CallersTransactions {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #connections = new WeakMap<DatabaseSync, Connection>();

  readonly #shareable: boolean;

  constructor(path: string, clock: Clock, shareable: boolean) {
    this.#path = path;
    this.#clock = clock;
    this.#shareable = shareable;
  }

  verbs(tx: unknown): TransactionVerbs {
    const on = this.#connection(tx);
    return {
      insert: async (jobs) => this.#run(on, (inside) => jobs.map((job) => insertJob(inside, job))),
      settle: async (settlements) => this.#run(on, (inside) => settlements.map((settlement) => settleJob(inside, settlement))),
    };
  }

  #run<Answer>(on: Connection, work: (tx: Transaction) => Answer): Answer {
    const topics = new Set<string>();
    const counts = new Counts();
    const tx: Transaction = {
      on,
      now: new FileTime(on, this.#clock).take(),
      catalog: new Catalog(on),
      counts,
      granted: null,
      sendHint: (hint) => topics.add(topicOf(hint)),
    };
    const answer = work(tx);
    counts.write(on, tx.now);
    for (const topic of topics) on.run(RAISE_SIGNAL, topic);
    return answer;
  }

  #connection(tx: unknown): Connection {
    if (!isDatabase(tx)) {
      throw new MillraceError("invalid_transaction", "tx must be a DatabaseSync of node:sqlite with an open transaction", { field: "tx" });
    }
    if (!tx.isTransaction) {
      throw new MillraceError("invalid_transaction", 'tx has no open transaction: run "begin immediate" on it first', { field: "tx" });
    }
    if (!this.#shareable) {
      throw new MillraceError(
        "unsupported_store",
        "tx is a second connection to the file, which this version of SQLite does not support safely: install the newest release of Node 24 or later",
        { field: "tx" },
      );
    }
    let connection = this.#connections.get(tx);
    if (connection === undefined || !connection.isAlive) {
      this.#refuseOtherFile(tx);
      connection = new Connection(tx);
      this.#connections.set(tx, connection);
    }
    return connection;
  }

  #refuseOtherFile(db: DatabaseSync): void {
    const main = db
      .prepare("pragma database_list")
      .all()
      .find((row) => row["name"] === "main");
    const file = String(main?.["file"] ?? "");
    if (file === "" || realpathSync(file) !== realpathSync(this.#path)) {
      throw new MillraceError("invalid_transaction", `tx is a transaction on ${file || "an in-memory database"}, not on ${this.#path}`, {
        field: "tx",
      });
    }
  }
}

function isDatabase(tx: unknown): tx is DatabaseSync {
  return typeof tx === "object" && tx !== null && typeof (tx as DatabaseSync).prepare === "function" && "isTransaction" in tx;
}
