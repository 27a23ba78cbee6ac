import { MillraceError } from "../../core/errors.ts";
import type { JobRecord, NewJob } from "../../core/job.ts";
import type { Hint, InsertAnswer, LeaseAnswer, Note, Settlement, TransactionVerbs } from "../store.ts";
import { TEXT_ARRAYS } from "./arrays.ts";
import { ADMITTED } from "./answers.ts";
import { encodeText, ids, laneOf, numbers, readJob, type Row, texts } from "./codec.ts";
import { type CallersTransaction, openTransaction } from "./callers-transaction.ts";
import { type Lane, toLane } from "./catalog.ts";
import type { CommitWatch } from "./commit-watch.ts";
import { failureOf } from "./failures.ts";
import { type Context, inRounds, roundsById } from "./context.ts";
import { hintsOfSettled, inOrder, lanesToFollow, noteItems, orderedAnswers, settlementValues } from "./exchange.ts";
import { flowColumns } from "./flows.ts";
import { admitColumns, hintsOfInserted, insertRounds, readAdmitted } from "./insert.ts";

const MOST_TRIES = 5;

/**
 * Our verbs inside the caller's own transaction, on the caller's own connection. It writes only new rows and the row of the settled lease:
 * nothing that others wait for. Nothing is retried, because the caller may roll back. Hints are sent once the transaction is seen to be
 * committed.
 */
export function verbsWithin(context: Context, commits: CommitWatch, tx: unknown, database: string): TransactionVerbs {
  const within = new Within(context, commits, openTransaction(tx, database));
  return {
    insert: (jobs) => within.insert(jobs),
    settle: (settlements) => within.settle(settlements),
    note: (notes) => within.note(notes),
  };
}

class Within {
  readonly #context: Context;
  readonly #commits: CommitWatch;
  readonly #on: CallersTransaction;

  constructor(context: Context, commits: CommitWatch, on: CallersTransaction) {
    this.#context = context;
    this.#commits = commits;
    this.#on = on;
  }

  async insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
    return inRounds(jobs, insertRounds(jobs), (batch) => this.#admit(batch));
  }

  async settle(settlements: readonly Settlement[]): Promise<LeaseAnswer[]> {
    const { catalog, now, sql } = this.#context;
    return inRounds(settlements, roundsById(settlements), async (batch) => {
      const { order, values } = settlementValues(batch, await lanesToFollow(this.#context, batch), TEXT_ARRAYS);
      const { rows, transaction } = await this.#ask(sql.settleWithin, [now(), false, false, ...values, null]);
      const [head] = rows;
      const found = orderedAnswers(order, (head?.[0] ?? []) as unknown as number[]);
      const durable = { dueInMs: head?.[2] as number | null, notices: head?.[3] as number | null };
      const woken = await catalog.queueNames((head?.[1] ?? []) as unknown as number[]);
      this.#hintOnCommit(transaction, [
        ...hintsOfSettled(batch, found, durable),
        ...woken.map((queue): Hint => ({ topic: "work", queue })),
      ]);
      return found;
    });
  }

  async note(notes: readonly Note[]): Promise<LeaseAnswer[]> {
    const { now, sql } = this.#context;
    return inRounds(notes, roundsById(notes), async (batch) => {
      const { rows } = await this.#ask(sql.noteWithin, [now(), false, false, noteItems(batch)]);
      return inOrder(batch.length, (rows[0]?.[0] ?? null) as unknown as number[] | null);
    });
  }

  async #admit(jobs: readonly NewJob[], tries = 1): Promise<InsertAnswer[]> {
    const { sql, catalog, now } = this.#context;
    const lanes = await catalog.lanesWithin(jobs, this.#rows);
    await this.#freeExpiredKeys(
      jobs,
      lanes.map(({ queueId }) => queueId),
    );
    const flows = flowColumns(jobs, TEXT_ARRAYS);
    const values = [now(), false, false, ...admitColumns(jobs, lanes), ...(flows ?? [])];
    const { rows, transaction } = await this.#ask(flows === null ? sql.admitWithin : sql.admitFlowsWithin, values);
    const holders = await this.#holders(rows);
    const answers: InsertAnswer[] = [];
    for (const [index, row] of rows.entries()) {
      const answer = readAdmitted(row, jobs[index]!, holders);
      if (answer === null && tries === MOST_TRIES)
        throw new MillraceError("store_unavailable", "other transactions kept taking and freeing the idempotency key. Try again");
      answers.push(answer ?? (await this.#admit([jobs[index]!], tries + 1))[0]!);
    }
    this.#hintOnCommit(transaction, hintsOfInserted(jobs, answers));
    return answers;
  }

  /** On our own connection, in its own commit: a caller's transaction must not update what others look at. */
  async #freeExpiredKeys(jobs: readonly NewJob[], queueIds: readonly number[]): Promise<void> {
    const keyed = jobs.flatMap(({ idempotencyKey }, index) => (idempotencyKey === null ? [] : [index]));
    if (keyed.length === 0) return;
    const { connections, sql, now } = this.#context;
    const queues = numbers(keyed.map((index) => queueIds[index]!));
    await connections.call(sql.freeKeys, [now(), queues, texts(keyed.map((index) => encodeText(jobs[index]!.idempotencyKey!)))]);
  }

  /** The jobs that have the keys. They may come from this very transaction, so only it can see them. */
  async #holders(rows: readonly Row[]): Promise<Map<string, JobRecord>> {
    const wanted = [...new Set(rows.filter(([, kind]) => kind === ADMITTED.knownKey).map((row) => row[5] as string))];
    if (wanted.length === 0) return new Map();
    const { sql, catalog } = this.#context;
    const { rows: found } = await this.#ask(sql.findWithin, [ids(wanted)]);
    await catalog.learn(found.map((row) => laneOf(row)));
    const unknown = found.map((row) => laneOf(row)).filter((lane) => catalog.laneOf(lane) === undefined);
    const rowsOfLanes = unknown.length === 0 ? [] : await this.#rows(sql.lanesByIdWithin, [numbers(unknown)]);
    const uncommitted = new Map(rowsOfLanes.map(toLane).map((lane) => [lane.id, lane]));
    const nameOf = (lane: number): Lane => catalog.laneOf(lane) ?? uncommitted.get(lane)!;
    return new Map(found.map((row) => [row[0] as string, readJob(row, nameOf(laneOf(row)))]));
  }

  #hintOnCommit(transaction: string | null, hints: readonly Hint[]): void {
    if (transaction !== null) this.#commits.add(transaction, hints);
  }

  readonly #rows = async (text: string, values: readonly unknown[]): Promise<Row[]> => (await this.#ask(text, values)).rows;

  /** Every answer is one JSON text, so that it does not depend on the caller's driver and its settings. */
  async #ask(text: string, values: readonly unknown[]): Promise<{ transaction: string | null; rows: Row[] }> {
    const [row] = await this.#on.query(text, values).catch((error: unknown) => this.#makeMissing(error));
    const answer = row?.["answer"];
    const [transaction, rows] = (typeof answer === "string" ? JSON.parse(answer) : answer) as [string | null, Row[] | null];
    return { transaction, rows: rows ?? [] };
  }

  /** Creates dropped functions again, but this transaction has failed. Drizzle passes on the server's error as a cause. */
  async #makeMissing(error: unknown): Promise<never> {
    if (![error, (error as Error).cause].some((met) => failureOf(met) === "missing")) throw error;
    await this.#context.connections.createFunctions();
    throw new MillraceError("store_unavailable", "Millrace's functions were missing and have been created: run the transaction again", {
      cause: error,
    });
  }
}
