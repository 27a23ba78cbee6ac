import type { NewJob } from "../../core/job.ts";
import { type Counter, counterOf, countsRunTime } from "../../core/counters.ts";
import type { Claim, Lease, LeaseAnswer, LeasedRecord, Note, Settlement } from "../store.ts";
import {
  counterMetric,
  encodeError,
  encodeText,
  ids,
  laneOf,
  numbers,
  readLeased,
  type Row,
  settledMark,
  stateNumber,
  texts,
} from "./codec.ts";
import type { Manner, Sql } from "./connections.ts";
import { type Desk, readNumbers, rounds } from "./desk.ts";
import type { Floors } from "./floors.ts";
import { admitColumns } from "./insert.ts";
import { togetherOrAlone } from "./together.ts";
import { dueHints } from "./topics.ts";

const ANSWERS: readonly LeaseAnswer[] = ["ok", "stale", "cancelled"];

/** In a row of `exchange`: the number of the claim, how settlements were answered, queues with work, dead letters; then the job. */
const HEAD = -1;
const CLOGGED = -2;
const SETTLED_AT = 1;
const WOKEN_AT = 2;
const DEAD_LETTERS_AT = 3;
const JOB_AT = 4;

export class Exchanger {
  readonly #desk: Desk;
  readonly #floors: Floors;

  constructor(desk: Desk) {
    this.#desk = desk;
    this.#floors = desk.floors;
  }

  async exchange(
    settlements: readonly Settlement[],
    claims: readonly Claim[],
  ): Promise<{ settled: LeaseAnswer[]; claimed: LeasedRecord[][] }> {
    const settled: LeaseAnswer[] = [];
    // One lease that is reported twice in a call: the second report meets what the first one left.
    const turns = rounds(settlements, ({ id }) => id);
    for (const round of turns.slice(0, -1)) {
      const answers = await this.#settle(pick(settlements, round));
      round.forEach((index, at) => (settled[index] = answers[at]!));
    }
    const last = turns.at(-1) ?? [];
    if (last.length === 0 && claims.length === 0) return { settled, claimed: [] };
    const { answers, claimed } = await this.#settleAndClaim(pick(settlements, last), claims);
    last.forEach((index, at) => (settled[index] = answers[at]!));
    return { settled, claimed };
  }

  async extend(leases: readonly (Lease & { readonly leaseMs: number })[]): Promise<LeaseAnswer[]> {
    const answers: LeaseAnswer[] = [];
    for (const round of rounds(leases, ({ id }) => id)) {
      const found = await togetherOrAlone(pick(leases, round), (batch, failLocked) => this.#extend(batch, failLocked));
      round.forEach((index, at) => (answers[index] = found[at]!));
    }
    return answers;
  }

  async note(notes: readonly Note[]): Promise<LeaseAnswer[]> {
    const answers: LeaseAnswer[] = [];
    for (const round of rounds(notes, ({ id }) => id)) {
      const found = await togetherOrAlone(pick(notes, round), (batch, failLocked) => this.#note(batch, failLocked));
      round.forEach((index, at) => (answers[index] = found[at]!));
    }
    return answers;
  }

  async #settle(settlements: readonly Settlement[]): Promise<LeaseAnswer[]> {
    return togetherOrAlone(settlements, async (batch, failLocked) => (await this.#call(batch, [], failLocked)).answers);
  }

  async #settleAndClaim(
    settlements: readonly Settlement[],
    claims: readonly Claim[],
  ): Promise<{ answers: LeaseAnswer[]; claimed: LeasedRecord[][] }> {
    if (settlements.length === 0) return this.#call([], claims, false);
    const calls: { answers: LeaseAnswer[]; claimed: LeasedRecord[][] }[] = [];
    const answers = await togetherOrAlone(settlements, async (batch, failLocked) => {
      // If they have to go alone, nobody waits with his claim for the row of another.
      const call = await this.#call(batch, batch.length === settlements.length ? claims : [], failLocked);
      calls.push(call);
      return call.answers;
    });
    const claimed = calls.find((call) => call.claimed.length === claims.length)?.claimed ?? (await this.#call([], claims, false)).claimed;
    return { answers, claimed };
  }

  async #call(
    settlements: readonly Settlement[],
    claims: readonly Claim[],
    failLocked: boolean,
  ): Promise<{ answers: LeaseAnswer[]; claimed: LeasedRecord[][] }> {
    const { connections, sql, now } = this.#desk;
    const { order, values } = settlementValues(settlements);
    const floors = claims.length === 0 ? null : this.#floors.next();
    let again = false;
    const onUnknown = (): void => void (again = true);
    const ask = (on: Sql): Promise<Row[]> =>
      on.query(sql.exchange, [now(), true, ...values, claims.length === 0 ? null : encodeClaims(claims, again, floors)]);
    const followed = settlements.some(({ followUp }) => followUp);
    const rows = followed
      ? await this.#followed(settlements, order, ask, { failLocked, onUnknown })
      : await connections.run(ask, { failLocked, onUnknown });
    this.#desk.housekeeping.wrote(settlements.length + rows.length);
    const answers = orderedAnswers(order, settledIn(rows[0]));
    const head = isHead(rows[0]) ? rows.shift()! : null;
    this.#ring(settlements, answers, head);
    const granted = rows.filter(([claim]) => claim !== CLOGGED);
    if (claims.length > 0 && floors === null) this.#floors.looked(granted.length < rows.length);
    return { answers, claimed: await this.#readClaimed(granted, claims.length) };
  }

  /** With the jobs that follow, in one transaction. */
  async #followed(
    settlements: readonly Settlement[],
    order: readonly number[],
    ask: (on: Sql) => Promise<Row[]>,
    manner: Manner,
  ): Promise<Row[]> {
    const { connections, sql, catalog, now } = this.#desk;
    const followUps = settlements.map(({ followUp }) => followUp ?? null);
    // Before it: what the catalog writes is committed by itself.
    const lanes = await catalog.lanes(followUps.filter((job) => job !== null));
    const known = new Map(followUps.filter((job) => job !== null).map((job, index) => [job, lanes[index]!]));
    let jobs: NewJob[] = [];
    const rows = await connections.transaction(async (on) => {
      const rows = await ask(on);
      const answers = orderedAnswers(order, settledIn(rows[0]));
      jobs = followUps.filter((job, index) => job !== null && answers[index] === "ok") as NewJob[];
      const columns = admitColumns(
        jobs,
        jobs.map((job) => known.get(job)!),
      );
      if (jobs.length > 0) await on.query(sql.admit, [now(), true, ...columns]);
      return rows;
    }, manner);
    this.#desk.ring([...new Set(jobs.map(({ queue }) => queue))].map((queue) => ({ topic: "work", queue })));
    return rows;
  }

  async #readClaimed(rows: readonly Row[], claims: number): Promise<LeasedRecord[][]> {
    const { catalog } = this.#desk;
    const claimed: LeasedRecord[][] = Array.from({ length: claims }, () => []);
    for (const row of rows) {
      const lane = laneOf(row, JOB_AT);
      if (catalog.laneOf(lane) === undefined) await catalog.learn(rows.map((row) => laneOf(row, JOB_AT)));
      const lease = readLeased(row, catalog.laneOf(lane)!, row[DEAD_LETTERS_AT] as boolean, JOB_AT);
      claimed[row[0] as number]!.push(lease);
      this.#floors.claimed(lane, lease.runAt);
    }
    return claimed;
  }

  #ring(settlements: readonly Settlement[], answers: readonly LeaseAnswer[], head: Row | null): void {
    const applied = settlements.filter((_, index) => answers[index] === "ok");
    const hints = dueHints(applied);
    if (applied.some(({ outcome }) => outcome === "lost")) hints.push({ topic: "lease" });
    if (hints.length > 0) this.#desk.ring(hints);
    const woken = readNumbers((head?.[WOKEN_AT] ?? null) as string | null);
    if (woken.length === 0) return;
    this.#floors.reset();
    this.#desk.ringQueues(woken);
  }

  async #extend(leases: readonly (Lease & { readonly leaseMs: number })[], failLocked: boolean): Promise<LeaseAnswer[]> {
    const { connections, sql, now } = this.#desk;
    const values = [
      now(),
      ids(leases.map(({ id }) => id)),
      numbers(leases.map(({ fence }) => fence)),
      numbers(leases.map(({ leaseMs }) => leaseMs)),
    ];
    const [row] = await connections.call(sql.extend, values, { beat: true, failLocked });
    return readAnswers(leases.length, row![0] as string | null);
  }

  async #note(notes: readonly Note[], failLocked: boolean): Promise<LeaseAnswer[]> {
    const { connections, sql, now } = this.#desk;
    const items = notes.map(({ id, fence, progress, lines }, index) => ({
      ord: index + 1,
      id,
      fence,
      new_progress: progress === null ? null : JSON.stringify(progress),
      lines: lines.map(encodeText),
    }));
    const [row] = await connections.call(sql.note, [now(), JSON.stringify(items)], { failLocked });
    return readAnswers(notes.length, row![0] as string | null);
  }
}

function isHead(row: Row | undefined): row is Row {
  return row?.[0] === HEAD;
}

/** What the head of an answer, if it has one, tells of the settlements that were not applied. */
function settledIn(row: Row | undefined): number[] {
  return readNumbers(isHead(row) ? (row[SETTLED_AT] as string | null) : null);
}

function readAnswers(count: number, text: string | null): LeaseAnswer[] {
  return text === null ? Array.from({ length: count }, () => "ok") : readNumbers(text).map((number) => ANSWERS[number]!);
}

/** Whether it is the usual end, which goes in columns. */
function isCompletion({ outcome, transition, ifExpired }: Settlement): boolean {
  return outcome === "completed" && transition.to === "completed" && !ifExpired;
}

/** Settlements as `exchange` takes them: completions first, then the others. `order` tells where each came from. */
export function settlementValues(settlements: readonly Settlement[]): { order: number[]; values: unknown[] } {
  const completions: Settlement[] = [];
  const others: object[] = [];
  const order: number[] = [];
  const later: number[] = [];
  settlements.forEach((settlement, index) => {
    if (!isCompletion(settlement)) return void later.push(index);
    completions.push(settlement);
    order.push(index);
  });
  for (const index of later) others.push(encodeOther(settlements[index]!, order.push(index)));
  const columns =
    completions.length === 0
      ? [null, null, null, null]
      : [
          ids(completions.map(({ id }) => id)),
          numbers(completions.map(({ fence }) => fence)),
          texts(completions.map(({ transition }) => transition.result ?? null)),
          numbers(completions.map(({ transition }) => transition.runMs)),
        ];
  return { order, values: [...columns, others.length === 0 ? null : JSON.stringify(others)] };
}

/** Puts answers back into the caller's order; none at all means that all is well. */
export function orderedAnswers(order: readonly number[], answers: readonly number[]): LeaseAnswer[] {
  const ordered: LeaseAnswer[] = [];
  order.forEach((index, at) => (ordered[index] = ANSWERS[answers[at] ?? 0]!));
  return ordered;
}

function encodeOther({ id, fence, outcome, transition, ifExpired }: Settlement, ord: number): object {
  const counter: Counter | null = counterOf(transition.to);
  return {
    ord,
    id,
    fence,
    mark: settledMark(fence, outcome),
    if_expired: ifExpired,
    to_state: stateNumber(transition.to),
    bump: transition.bumpFence ? 1 : 0,
    give_back: transition.giveBackAttempt ? 1 : 0,
    reset: transition.retries === "reset",
    retry: transition.retries === "add" ? 1 : 0,
    reset_losses: transition.losses === "reset",
    loss: transition.losses === "add" ? 1 : 0,
    snooze: transition.countSnooze ? 1 : 0,
    delay: transition.delayMs === null ? null : Math.round(transition.delayMs),
    keep_result: transition.result === undefined,
    new_result: transition.result ?? null,
    keep_error: transition.error === undefined,
    new_error: encodeError(transition.error),
    ends: transition.endsAttempt,
    new_run_ms: transition.runMs,
    counter: counter === null ? null : counterMetric(counter),
    lost: outcome === "lost",
    timed: countsRunTime(outcome),
  };
}

function encodeClaims(claims: readonly Claim[], again: boolean, floors: ReturnType<Floors["next"]>): string {
  return JSON.stringify(
    claims.map((claim) => ({
      worker: encodeText(claim.workerId),
      queues: claim.queues,
      types: claim.types === "*" ? null : claim.types,
      lim: claim.limit,
      lease: claim.leaseMs,
      turn: claim.turn,
      again: again || claim.again,
      ...floors,
    })),
  );
}

function pick<Item>(items: readonly Item[], indexes: readonly number[]): readonly Item[] {
  return indexes.length === items.length ? items : indexes.map((index) => items[index]!);
}
