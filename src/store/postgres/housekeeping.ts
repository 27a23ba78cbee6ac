import type { Connections } from "./connections.ts";
import { SAY_USED_EVERY_MS } from "./function-set.ts";
import type { Statements } from "./statements.ts";

/** How long what was counted may lie unfolded, and how many rows one fold takes. */
const FOLD_AFTER_MS = 1_000;
const FOLD_BATCH = 10_000;
/** After so many moves the hot tables are cleared of dead rows: autovacuum looks once a minute only, and a minute is a million jobs. */
const VACUUM_AFTER_MOVES = 100_000;

/**
 * What a process clears up behind itself: it folds what it counted, vacuums where it moved much, and says that it uses its functions. Nothing
 * depends on it but the cost of reading figures, so that all failures are left to the next time.
 */
export class Housekeeping {
  readonly #connections: Connections;
  readonly #sql: Statements;
  #timer: NodeJS.Timeout | null = null;
  #moves = 0;
  /** When this process said that it uses its functions: when it opened the store, at first. */
  #saidUsedAt = performance.now();
  #sweptAt = -Infinity;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(connections: Connections, sql: Statements) {
    this.#connections = connections;
    this.#sql = sql;
  }

  /** Called after a commit that counted something; `moves` is how many jobs it moved. */
  wrote(moves: number): void {
    this.#moves += moves;
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => this.#work(), FOLD_AFTER_MS).unref();
  }

  /** Adds up what was counted, in batches, until little is left. */
  async fold(): Promise<void> {
    for (;;) {
      const [row] = await this.#connections.call(this.#sql.fold, [FOLD_BATCH]);
      if ((row![0] as number) < FOLD_BATCH) return;
    }
  }

  /** Drops functions that nobody uses, once in a while. */
  async sweepFunctions(): Promise<void> {
    await this.#sayFunctionsUsed();
    if (performance.now() - this.#sweptAt < SAY_USED_EVERY_MS) return;
    this.#sweptAt = performance.now();
    await this.#connections.call(this.#sql.sweepFunctions);
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
  }

  #work(): void {
    this.#timer = null;
    this.#running = this.#foldAndVacuum().catch(() => {});
  }

  async #foldAndVacuum(): Promise<void> {
    await this.#sayFunctionsUsed();
    await this.fold();
    if (this.#moves < VACUUM_AFTER_MOVES) return;
    this.#moves = 0;
    await this.#connections.call(this.#sql.vacuum, [], { slow: true });
  }

  async #sayFunctionsUsed(): Promise<void> {
    if (performance.now() - this.#saidUsedAt < SAY_USED_EVERY_MS) return;
    this.#saidUsedAt = performance.now();
    await this.#connections.call(this.#sql.sayFunctionsUsed);
  }
}
