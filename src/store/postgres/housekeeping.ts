import type { Connections } from "./connections.ts";
import { readNumbers } from "./context.ts";
import { SAY_USED_EVERY_MS } from "./function-set.ts";
import type { Statements } from "./statements.ts";

/** How long counts may stay unfolded, and how many rows one fold takes. */
export const FOLD_AFTER_MS = 1_000;
const FOLD_BATCH = 10_000;
/** After this many moves the hot tables are vacuumed: autovacuum runs only once a minute, and a minute is a million jobs. */
const VACUUM_AFTER_MOVES = 100_000;

export interface HousekeepingOptions {
  /** The time of a test's clock, else null. */
  readonly now: () => number | null;
  /** Called with the numbers of queues in which jobs may start now. */
  readonly onWork: (queues: readonly number[]) => void;
}

/**
 * A process's own cleanup: it folds its counts and puts jobs of limit keys in line, vacuums after many moves, and reports that it uses its functions. Failures are left to
 * the next time: only the cost of reading figures, and the start of jobs that nobody claims, depends on it.
 */
export class Housekeeping {
  readonly #connections: Connections;
  readonly #sql: Statements;
  #timer: NodeJS.Timeout | null = null;
  #moves = 0;
  /** When this process last reported that it uses its functions; opening the store counts. */
  #saidUsedAt = performance.now();
  #sweptAt = -Infinity;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  readonly #options: HousekeepingOptions;

  constructor(connections: Connections, sql: Statements, options: HousekeepingOptions) {
    this.#connections = connections;
    this.#sql = sql;
    this.#options = options;
  }

  /** Call it after a commit that counted something; `moves` is how many jobs it moved. */
  wrote(moves: number): void {
    this.#moves += moves;
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => this.#work(), FOLD_AFTER_MS).unref();
  }

  /** Folds counts in batches until few are left. */
  async fold(): Promise<void> {
    for (;;) {
      const [row] = await this.#connections.call(this.#sql.fold, [FOLD_BATCH]);
      if ((row![0] as number) < FOLD_BATCH) return;
    }
  }

  /** Drops functions that nobody uses, at most every SAY_USED_EVERY_MS. */
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
    await this.#tendTurns();
    if (this.#moves < VACUUM_AFTER_MOVES) return;
    this.#moves = 0;
    await this.#connections.call(this.#sql.vacuum, [], { slow: true });
  }

  /** Puts jobs of limit keys in line that nobody claimed since, as those of a caller's transaction. */
  async #tendTurns(): Promise<void> {
    const [row] = await this.#connections.call(this.#sql.tendTurns, [this.#options.now()]);
    const queues = readNumbers(row![0] as string | null);
    if (queues.length > 0) this.#options.onWork(queues);
  }

  async #sayFunctionsUsed(): Promise<void> {
    if (performance.now() - this.#saidUsedAt < SAY_USED_EVERY_MS) return;
    this.#saidUsedAt = performance.now();
    await this.#connections.call(this.#sql.sayFunctionsUsed);
  }
}
