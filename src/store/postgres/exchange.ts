import { randomUUID } from "node:crypto";
import type { NewJob } from "../../core/job.ts";
import { isPlainEnd } from "../../core/lifecycle.ts";
import { settledMark } from "../numbers.ts";
import type { Claim, ExchangeAnswer, Hint, Lease, LeaseAnswer, LeasedRecord, Note, Settlement } from "../store.ts";
import type { Arrays } from "./arrays.ts";
import { ASK_AGAIN, CLOGGED, HEAD, LEASE_ANSWERS, leaseAnswer } from "./answers.ts";
import type { Lane } from "./catalog.ts";
import { attemptOf, encodeFence, encodeText, encodeTransition, ids, laneOf, readGranted, runAtOf, type Row } from "./codec.ts";
import { type Context, inRounds, pick, readNumbers, roundsById } from "./context.ts";
import { jobItem } from "./insert.ts";
import { KEYED_MARK } from "./lines.ts";
import type { UsedStarts } from "./read-starts.ts";
import { dueInMsOf, type DurableDone, encodeDurable, hasWaits, isDurable } from "./suspend.ts";
import { type Request, waitOrLeaveOut } from "./wait-or-leave-out.ts";
import { dueHints } from "./notifications.ts";

const LEFT_OUT = leaseAnswer("locked");

/** Columns of `exchange`: the number of the claim, the answers to settlements, queues with work, dead letters; then the job. */
const SETTLED_AT = 1;
const WOKEN_AT = 2;
const DEAD_LETTERS_AT = 3;
const JOB_AT = 4;

export async function exchange(context: Context, settlements: readonly Settlement[], claims: readonly Claim[]): Promise<ExchangeAnswer> {
  const settled: LeaseAnswer[] = [];
  // If a call reports one lease twice, the second report sees the result of the first.
  const turns = roundsById(settlements);
  for (const round of turns.slice(0, -1)) {
    const { answers } = await call(context, pick(settlements, round), []);
    round.forEach((index, at) => (settled[index] = answers[at]!));
  }
  const last = turns.at(-1) ?? [];
  if (last.length === 0 && claims.length === 0) return { settled, claimed: [] };
  const { answers, ...claimed } = await call(context, pick(settlements, last), claims);
  last.forEach((index, at) => (settled[index] = answers[at]!));
  return { settled, ...claimed };
}

export async function extendLeases(context: Context, leases: readonly (Lease & { readonly leaseMs: number })[]): Promise<LeaseAnswer[]> {
  return inRounds(leases, roundsById(leases), (batch) => extend(context, batch));
}

export async function writeNotes(context: Context, notes: readonly Note[]): Promise<LeaseAnswer[]> {
  return inRounds(notes, roundsById(notes), (batch) => note(context, batch));
}

async function call(
  context: Context,
  settlements: readonly Settlement[],
  claims: readonly Claim[],
): Promise<{ answers: LeaseAnswer[] } & Omit<ExchangeAnswer, "settled">> {
  const { connections, sql, now } = context;
  const { order, values } = settlementValues(settlements, await lanesToFollow(context, settlements), context.arrays);
  const starts = claims.length === 0 ? null : context.laneStarts.next();
  const tries = new Tries();
  const request: Request = {
    items: settlements.length + claims.length,
    ask: (on, careful) =>
      on.query(sql.exchange, [now(), true, careful, ...values, claims.length === 0 ? null : encodeClaims(claims, tries, starts)]),
    leavesOut: (rows) => settledIn(rows[0]).includes(LEFT_OUT),
  };
  const rows = await waitOrLeaveOut(connections, request, { onUnknown: tries.onUnknown });
  context.housekeeping.wrote(settlements.length + rows.length);
  const answers = orderedAnswers(order, settledIn(rows[0]));
  const head = isHead(rows[0]) ? rows.shift()! : null;
  sendHints(context, settlements, answers, head);
  const granted = rows.filter((row) => (row[0] as number) >= 0);
  if (claims.length > 0 && starts === null) context.laneStarts.looked(rows.some((row) => row[0] === CLOGGED));
  return { answers, claimed: await readClaimed(context, granted, claims, starts), ...readAgain(rows, claims) };
}

/** When to ask again for each claim, if for any. */
function readAgain(rows: readonly Row[], claims: readonly Claim[]): { againInMs?: (number | null)[] } {
  const againInMs: (number | null)[] = claims.map(() => null);
  for (const row of rows) {
    if (row[0] !== ASK_AGAIN) continue;
    const [claim] = readNumbers(row[WOKEN_AT] as string) as [number];
    const inMs = runAtOf(row, JOB_AT);
    if (inMs !== null) againInMs[claim] = Math.min(againInMs[claim] ?? Infinity, Math.max(0, inMs));
  }
  return againInMs.every((inMs) => inMs === null) ? {} : { againInMs };
}

async function readClaimed(
  context: Context,
  rows: readonly Row[],
  claims: readonly Claim[],
  starts: UsedStarts | null,
): Promise<LeasedRecord[][]> {
  const { catalog } = context;
  const claimed: LeasedRecord[][] = claims.map(() => []);
  for (const row of rows) {
    const lane = laneOf(row, JOB_AT);
    if (catalog.laneOf(lane) === undefined) await catalog.learn(rows.map((row) => laneOf(row, JOB_AT)));
    const claim = row[0] as number;
    const lease = readGranted(row, catalog.laneOf(lane)!, row[DEAD_LETTERS_AT] as boolean, claims[claim]!, JOB_AT);
    claimed[claim]!.push(lease);
    context.laneStarts.claimed(lane, lease.runAt, starts);
  }
  return claimed;
}

function sendHints(context: Context, settlements: readonly Settlement[], answers: readonly LeaseAnswer[], head: Row | null): void {
  const hints = hintsOfSettled(settlements, answers, head === null ? null : durableIn(head));
  if (hints.length > 0) context.sendHints(hints);
  const woken = readNumbers((head?.[WOKEN_AT] ?? null) as string | null);
  if (woken.length === 0) return;
  context.laneStarts.reset();
  context.sendWorkHints(woken);
}

async function extend(context: Context, leases: readonly (Lease & { readonly leaseMs: number })[]): Promise<LeaseAnswer[]> {
  const { connections, sql, arrays, now } = context;
  const values = [
    arrays.ids(leases.map(({ id }) => id)),
    arrays.ints(leases.map(encodeFence)),
    arrays.bigints(leases.map(({ leaseMs }) => leaseMs)),
  ];
  const request = leaseRequest(leases.length, (on, careful) => on.query(sql.extend, [now(), careful, ...values]));
  const [row] = await waitOrLeaveOut(connections, request, { beat: true });
  return readAnswers(leases.length, row![0] as string | null);
}

async function note(context: Context, notes: readonly Note[]): Promise<LeaseAnswer[]> {
  const { connections, sql, now } = context;
  const items = noteItems(notes);
  const request = leaseRequest(notes.length, (on, careful) => on.query(sql.note, [now(), true, careful, items]));
  const [row] = await waitOrLeaveOut(connections, request);
  return readAnswers(notes.length, row![0] as string | null);
}

/** Notes as the function `note` reads them. */
export function noteItems(notes: readonly Note[]): string {
  const items = notes.map((written, index) => ({
    ord: index + 1,
    id: written.id,
    fence: encodeFence(written),
    new_progress: written.progress === null ? null : JSON.stringify(written.progress),
    lines: written.lines.map(encodeText),
  }));
  return JSON.stringify(items);
}

/** A call whose answer is one row with an answer for each lease. */
export function leaseRequest(items: number, ask: Request["ask"]): Request {
  return { items, ask, leavesOut: ([row]) => readNumbers(row![0] as string | null).includes(LEFT_OUT) };
}

function isHead(row: Row | undefined): row is Row {
  return row?.[0] === HEAD;
}

/** The answers to settlements from the head row, if there is one. */
function settledIn(row: Row | undefined): number[] {
  return readNumbers(isHead(row) ? (row[SETTLED_AT] as string | null) : null);
}

function readAnswers(count: number, text: string | null): LeaseAnswer[] {
  return inOrder(count, text === null ? null : readNumbers(text));
}

/** The answers to leases; null: all are ok. */
export function inOrder(count: number, answers: readonly number[] | null): LeaseAnswer[] {
  return answers === null ? Array.from({ length: count }, () => "ok") : answers.map((number) => LEASE_ANSWERS[number]!);
}

/** What the head row says of suspended jobs and notices. */
function durableIn(head: Row): DurableDone {
  return { dueInMs: runAtOf(head, JOB_AT), notices: attemptOf(head, JOB_AT) };
}

/** The lanes of follow-up and called jobs. Looked up first, because the catalog commits on its own. */
export async function lanesToFollow(context: Context, settlements: readonly Settlement[]): Promise<ReadonlyMap<NewJob, Lane>> {
  const jobs = settlements.flatMap(({ followUp, calls = [] }) => (followUp ? [followUp, ...calls] : calls));
  if (jobs.length === 0) return new Map();
  const lanes = await context.catalog.lanes(jobs);
  return new Map(jobs.map((job, index) => [job, lanes[index]!]));
}

/** The hints of settlements, except `work` for jobs that were given back. */
export function hintsOfSettled(settlements: readonly Settlement[], answers: readonly LeaseAnswer[], durable: DurableDone | null): Hint[] {
  const applied = settlements.filter((_, index) => answers[index] === "ok");
  const calls = applied.flatMap(({ calls = [] }) => calls);
  const followed = new Set(applied.flatMap(({ followUp }) => followUp?.queue ?? []));
  for (const { queue } of calls.filter((call) => dueInMsOf(call) === 0)) followed.add(queue);
  const dueInMs = Math.min(durable?.dueInMs ?? Infinity, ...calls.map(dueInMsOf).filter((inMs) => inMs > 0));
  const unsuspended = applied.filter(({ waits = [] }) => waits.length === 0);
  const hints: Hint[] = [...Array.from(followed, (queue): Hint => ({ topic: "work", queue })), ...dueHints(unsuspended, dueInMs)];
  if (durable !== null && (durable.notices ?? 0) > 0) hints.push({ topic: "notices" });
  if (applied.some(({ transition }) => transition.losses === "add")) hints.push({ topic: "lease" });
  return hints;
}

/**
 * Settlements as `exchange` takes them: plain ends in columns, then the others, then follow-up jobs with their lanes. `order` has the
 * original index of each settlement.
 */
export function settlementValues(
  settlements: readonly Settlement[],
  lanes: ReadonlyMap<NewJob, Lane>,
  arrays: Arrays,
): { order: number[]; values: unknown[] } {
  const ends: Settlement[] = [];
  const others: object[] = [];
  const order: number[] = [];
  const later: number[] = [];
  settlements.forEach((settlement, index) => {
    if (settlement.ifExpired || usesLimits(settlement) || isDurable(settlement) || !isPlainEnd(settlement.transition))
      return void later.push(index);
    ends.push(settlement);
    order.push(index);
  });
  for (const index of later) others.push(encodeOther(settlements[index]!, order.push(index)));
  const columns =
    ends.length === 0
      ? [null, null, null, null, null, null]
      : [
          arrays.ids(ends.map(({ id }) => id)),
          arrays.ints(ends.map(encodeFence)),
          arrays.bigints(ends.map(({ fence, outcome }) => settledMark(fence, outcome))),
          arrays.texts(ends.map(({ transition }) => transition.result ?? null)),
          arrays.floats(ends.map(({ transition }) => transition.runMs)),
          ends.some(({ heldMs }) => heldMs) ? arrays.bigints(ends.map(({ heldMs = 0 }) => heldMs)) : null,
        ];
  const following = order.flatMap((index, at) => {
    const { followUp } = settlements[index]!;
    return followUp ? { ord: at + 1, ...jobItem(followUp, lanes.get(followUp)!) } : [];
  });
  const durable = encodeDurable(settlements, order, lanes);
  const faceted = [...following, ...(durable?.calls ?? [])].flatMap(({ id, facets }) => (facets === null ? [] : id));
  const further = [faceted.length === 0 ? null : ids(faceted), durable === null ? null : JSON.stringify(durable)];
  return { order, values: [...columns, jsonOrNull(others), jsonOrNull(following), ...further] };
}

function usesLimits({ unstarted, holdMs, spend }: Settlement): boolean {
  return unstarted === true || holdMs !== undefined || spend !== undefined;
}

function jsonOrNull(items: readonly object[]): string | null {
  return items.length === 0 ? null : JSON.stringify(items);
}

/** Puts answers back into the caller's order; no answers means that all are ok. */
export function orderedAnswers(order: readonly number[], answers: readonly number[]): LeaseAnswer[] {
  const ordered: LeaseAnswer[] = [];
  order.forEach((index, at) => (ordered[index] = LEASE_ANSWERS[answers[at] ?? 0]!));
  return ordered;
}

function encodeOther(settlement: Settlement, ord: number): object {
  const { id, fence, outcome, transition, ifExpired, heldMs: held } = settlement;
  const lease = { id, fence: encodeFence(settlement), mark: settledMark(fence, outcome), if_expired: ifExpired };
  const { unstarted, holdMs: hold, spend } = settlement;
  const uses = usesLimits(settlement) ? { uses_limits: true, unstarted, hold, spend } : {};
  const suspended = hasWaits(settlement) ? { suspended: true } : {};
  return { ord, ...lease, held, ...uses, ...suspended, ...encodeTransition(transition) };
}

/** The tries of one call. Each has a name, so that the server recognises one that arrives after we gave it up. */
class Tries {
  readonly #givenUp: string[] = [];
  #last = "";

  /** Called when the last try may have been carried out. */
  readonly onUnknown = (): void => void this.#givenUp.push(this.#last);

  next(): { nth_try: string; given_up: readonly string[] | null } {
    this.#last = `try ${randomUUID()}`;
    return { nth_try: this.#last, given_up: this.#givenUp.length === 0 ? null : this.#givenUp };
  }
}

function encodeClaims(claims: readonly Claim[], tries: Tries, starts: UsedStarts | null): string {
  const names = tries.next();
  return JSON.stringify(
    claims.map((claim) => ({
      worker: encodeText(claim.workerId),
      queues: claim.queues,
      types: claim.types === "*" ? null : claim.types.flatMap((type) => [type, type + KEYED_MARK]),
      lim: claim.limit,
      lease: claim.leaseMs,
      turn: claim.turn,
      again: claim.again,
      ...names,
      ...starts,
    })),
  );
}
