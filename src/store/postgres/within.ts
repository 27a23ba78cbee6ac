import { MillraceError } from "../../core/errors.ts";
import type { JobRecord, NewJob } from "../../core/job.ts";
import type { InsertAnswer, LeaseAnswer, Settlement, TransactionVerbs } from "../store.ts";
import { encodeText, ids, laneOf, numbers, readJob, type Row, texts } from "./codec.ts";
import type { Desk } from "./desk.ts";
import { rounds } from "./desk.ts";
import { orderedAnswers, settlementValues } from "./exchange.ts";
import { admitColumns, hintsOf, KNOWN_KEY, keyRounds, readAdmitted } from "./insert.ts";
import { dueHints, payloadsOf, topicOf } from "./topics.ts";
import { type CallersTransaction, openTransaction } from "./transactions.ts";

const MOST_TRIES = 5;

/**
 * Our verbs inside a transaction of the caller's own, on the caller's own connection. Only new rows are written there, and the row of the
 * lease that is settled: nothing that others wait for. Nothing is retried, because the caller may roll back. Processes hear of it by a
 * notification that the server sends with the commit.
 */
export function verbsWithin(desk: Desk, tx: unknown, target: { readonly database: string; readonly channel: string }): TransactionVerbs {
  const on = openTransaction(tx, target.database);
  return {
    insert: (jobs) => new Within(desk, on, target.channel).insert(jobs),
    settle: (settlements) => new Within(desk, on, target.channel).settle(settlements),
  };
}

class Within {
  readonly #desk: Desk;
  readonly #on: CallersTransaction;
  readonly #channel: string;

  constructor(desk: Desk, on: CallersTransaction, channel: string) {
    this.#desk = desk;
    this.#on = on;
    this.#channel = channel;
  }

  async insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
    const answers: InsertAnswer[] = [];
    for (const round of rounds(jobs, (job) => job.id).flatMap((same) => keyRounds(jobs, same))) {
      const found = await this.#admit(round.map((index) => jobs[index]!));
      round.forEach((index, at) => (answers[index] = found[at]!));
    }
    await this.#notify(hintsOf(jobs, answers).map(topicOf));
    return answers;
  }

  async settle(settlements: readonly Settlement[]): Promise<LeaseAnswer[]> {
    const answers: LeaseAnswer[] = [];
    for (const round of rounds(settlements, ({ id }) => id)) {
      const batch = round.map((index) => settlements[index]!);
      const { order, values } = settlementValues(batch);
      const [head] = await this.#ask(this.#desk.sql.settleWithin, [this.#desk.now(), false, ...values, null]);
      const found = orderedAnswers(order, (head?.[0] ?? []) as unknown as number[]);
      const woken = await this.#desk.catalog.queueNames((head?.[1] ?? []) as unknown as number[]);
      const topics = woken.map((queue) => topicOf({ topic: "work", queue }));
      await this.#notify([...topics, ...dueHints(batch).map(topicOf)]);
      const followUps = batch.flatMap(({ followUp }, at) => (followUp && found[at] === "ok" ? followUp : []));
      if (followUps.length > 0) await this.insert(followUps);
      round.forEach((index, at) => (answers[index] = found[at]!));
    }
    return answers;
  }

  async #admit(jobs: readonly NewJob[], tries = 1): Promise<InsertAnswer[]> {
    const { sql, catalog, now } = this.#desk;
    const lanes = await catalog.lanes(jobs);
    await this.#freeExpiredKeys(
      jobs,
      lanes.map(({ queueId }) => queueId),
    );
    const rows = await this.#ask(sql.admitWithin, [now(), false, ...admitColumns(jobs, lanes)]);
    const holders = await this.#holders(rows);
    const answers: InsertAnswer[] = [];
    for (const [index, row] of rows.entries()) {
      const answer = readAdmitted(row, holders);
      if (answer === null && tries === MOST_TRIES) throw new MillraceError("store_unavailable", "the key changed hands again and again");
      answers.push(answer ?? (await this.#admit([jobs[index]!], tries + 1))[0]!);
    }
    return answers;
  }

  /** On our own connection and in a commit of its own: a caller's transaction updates nothing that others look at. */
  async #freeExpiredKeys(jobs: readonly NewJob[], queueIds: readonly number[]): Promise<void> {
    const keyed = jobs.flatMap(({ idempotencyKey }, index) => (idempotencyKey === null ? [] : [index]));
    if (keyed.length === 0) return;
    const { connections, sql, now } = this.#desk;
    const queues = numbers(keyed.map((index) => queueIds[index]!));
    await connections.call(sql.freeKeys, [now(), queues, texts(keyed.map((index) => encodeText(jobs[index]!.idempotencyKey!)))]);
  }

  /** The jobs that have the keys; they may be of this very transaction, so only it can see them. */
  async #holders(rows: readonly Row[]): Promise<Map<string, JobRecord>> {
    const wanted = [...new Set(rows.filter(([, kind]) => kind === KNOWN_KEY).map((row) => row[5] as string))];
    if (wanted.length === 0) return new Map();
    const { sql, catalog } = this.#desk;
    const found = await this.#ask(sql.findWithin, [ids(wanted)]);
    await catalog.learn(found.map((row) => laneOf(row)));
    return new Map(found.map((row) => [row[0] as string, readJob(row, catalog.laneOf(laneOf(row))!)]));
  }

  async #notify(topics: Iterable<string>): Promise<void> {
    const all = [...topics];
    if (all.length === 0) return;
    // Under no sender's name: this process has not heard of it yet either.
    for (const payload of payloadsOf("-", all)) await this.#on.query(this.#desk.sql.notify, [this.#channel, payload]);
  }

  /** Every answer is one text of JSON, so that it is the same whatever driver and settings the caller uses. */
  async #ask(text: string, values: readonly unknown[]): Promise<Row[]> {
    const [row] = await this.#on.query(text, values);
    const answer = row?.["answer"];
    return typeof answer === "string" ? (JSON.parse(answer) as Row[]) : ((answer ?? []) as Row[]);
  }
}
