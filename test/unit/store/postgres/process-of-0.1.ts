import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { idMaker } from "../../../../src/lib/id.ts";
import { failureOf } from "../../../../src/store/postgres/failures.ts";

/** A state and the metric that counts its jobs, as 0.1 numbered them. */
const STATES = { retrying: 1, cancelled: 5, failed: 6, dead: 7 } as const;
const PENDING_USUAL_PRIORITY = 9;
const SCHEDULED_USUAL_PRIORITY = 1;
const ENQUEUED = 32;

export interface OldLease {
  readonly id: string;
  readonly fence: number;
  readonly attempt: number;
}

const newId = idMaker(() => Date.now());

/** A process of 0.1 at work: it knows its own functions and what they take, and nothing else. Its queue and its lane have the number 1. */
export class ProcessOf01 {
  readonly #client: pg.Client;
  readonly #schema: string;

  constructor(client: pg.Client, schema: string) {
    this.#client = client;
    this.#schema = schema;
  }

  async makeQueue(): Promise<void> {
    const queue = `insert into ${this.#schema}.queue (name, head_start, dead_letters, keep_age, keep_count, keep_at_least)
      values ('default', 8796093022208, true, 1000000000, 1000000, 1000000000)`;
    for (const text of [queue, `insert into ${this.#schema}.lane (queue, priority, type) values (1, 0, 'task')`])
      await this.#client.query(text);
  }

  /** Inserts jobs with three retries, and tells their ids. */
  async insert(count: number, delayMs = 0): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newId(1));
    const all = (value: unknown): unknown[] => ids.map(() => value);
    const metrics = [delayMs === 0 ? PENDING_USUAL_PRIORITY : SCHEDULED_USUAL_PRIORITY, ENQUEUED];
    const delays = delayMs === 0 ? null : all(delayMs);
    const columns = [ids, [1], [1], [0], delays, [3], [1], [30_000], null, null, all("null"), [1, 1], metrics, [count, count]];
    await this.#call("enqueue", [null, ...columns]);
    return ids;
  }

  async claim(limit: number): Promise<OldLease[]> {
    const claims = [{ worker: "old", queues: ["default"], types: null, lim: limit, lease: 30_000, turn: 1, again: false }];
    const rows = await this.#call("exchange", [null, true, null, null, null, null, null, JSON.stringify(claims)]);
    return rows
      .filter(({ out_claim: claim }) => claim === 0)
      .map((row) => ({ id: row["out_id"] as string, fence: row["out_fence"] as number, attempt: row["out_attempt"] as number }));
  }

  async complete(leases: readonly OldLease[]): Promise<void> {
    const columns = [leases.map(({ id }) => id), leases.map(({ fence }) => fence), leases.map(() => "null"), leases.map(() => 1)];
    applied(await this.#call("exchange", [null, true, ...columns, null, null]));
  }

  /** Ends an attempt by a failure. */
  async fail(leases: readonly OldLease[], to: keyof typeof STATES): Promise<void> {
    const others = leases.map(({ id, fence }, index) => ({
      ord: index + 1,
      id,
      fence,
      mark: fence * 8 + 2,
      if_expired: false,
      to_state: STATES[to],
      bump: 0,
      give_back: 0,
      reset: false,
      retry: 1,
      snooze: 0,
      delay: to === "retrying" ? 1 : null,
      keep_result: true,
      keep_error: false,
      new_error: '{"name":"Error","message":"not yet"}',
      ends: true,
      new_run_ms: 1,
      lost: false,
      timed: true,
    }));
    applied(await this.#call("exchange", [null, true, null, null, null, null, JSON.stringify(others), null]));
  }

  promote(): Promise<unknown> {
    return this.#call("promote", [null, 100]);
  }

  /** As 0.1 did, a call that the server undid is made again. */
  async #call(name: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    const text = `select * from ${this.#schema}.${name}(${values.map((_, index) => `$${index + 1}`).join(", ")})`;
    for (;;) {
      try {
        return (await this.#client.query<Record<string, unknown>>(text, [...values])).rows;
      } catch (error) {
        if (!["again", "locked"].includes(failureOf(error))) throw error;
        await setImmediate();
      }
    }
  }
}

/** Each settlement was applied: the head row is there only if something is to be told. */
function applied(rows: readonly Record<string, unknown>[]): void {
  for (const { out_settled: settled } of rows) {
    if (settled !== null) throw new Error(`not all was settled: ${JSON.stringify(settled)}`);
  }
}
