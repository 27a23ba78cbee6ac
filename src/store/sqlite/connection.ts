import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Row } from "./codec.ts";

/** A database whose statements are prepared on first use. Rows are arrays. */
export class Connection {
  readonly db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  readonly #probe: StatementSync;

  constructor(db: DatabaseSync) {
    this.db = db;
    this.#probe = db.prepare("select 1");
  }

  get(text: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepared(text).get(...values) as unknown as Row | undefined;
  }

  all(text: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepared(text).all(...values) as unknown as Row[];
  }

  /** Returns how many rows it changed. */
  run(text: string, ...values: SQLInputValue[]): number {
    return this.#prepared(text).run(...values).changes as number;
  }

  /** Returns the single number that a statement selects. */
  number(text: string, ...values: SQLInputValue[]): number | null {
    return (this.get(text, ...values)?.[0] as number | null | undefined) ?? null;
  }

  /** Whether its statements still work: they end when a caller closes its connection and opens it again. */
  get isAlive(): boolean {
    try {
      return this.#probe.get() !== undefined;
    } catch {
      return false;
    }
  }

  #prepared(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.db.prepare(text);
      statement.setReturnArrays(true);
      // A caller's own connection may be set to read BigInts.
      statement.setReadBigInts(false);
      this.#statements.set(text, statement);
    }
    return statement;
  }
}
