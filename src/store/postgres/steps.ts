import type { NewStep, StepEnd, StepRecord } from "../../core/steps.ts";
import { STATE, statusOf, STEP_KIND, STEP_STATE, stepKindOf, stepStateOf } from "../numbers.ts";
import type { Hint, Lease, LeaseAnswer, StepEndAnswer, StepsPage, StoredNotice } from "../store.ts";
import { KEPT_FULL, LEASE_ANSWERS, STEP_ENDED } from "./answers.ts";
import { decodeText, encodeFence, encodeText, numbers, type Row } from "./codec.ts";
import { type Context, inRounds, readNumbers, roundsById } from "./context.ts";
import { leaseRequest } from "./exchange.ts";
import { readNotice } from "./notices.ts";
import { waitOrLeaveOut } from "./wait-or-leave-out.ts";

type Keep = Lease & { readonly steps: readonly NewStep[] };

export async function keepSteps(context: Context, keeps: readonly Keep[]): Promise<(LeaseAnswer | "full")[]> {
  return inRounds(keeps, roundsById(keeps), (batch) => keep(context, batch));
}

async function keep({ connections, sql, arrays, now }: Context, keeps: readonly Keep[]): Promise<(LeaseAnswer | "full")[]> {
  const ords: number[] = [];
  const steps: NewStep[] = [];
  keeps.forEach((kept, index) => {
    // Of two with one name the later counts.
    for (const step of new Map(kept.steps.map((step) => [step.name, step])).values()) ords[steps.push(step) - 1] = index + 1;
  });
  const values = [
    arrays.ids(keeps.map(({ id }) => id)),
    arrays.ints(keeps.map(encodeFence)),
    arrays.ints(ords),
    arrays.texts(steps.map(({ name }) => encodeText(name))),
    numbers(steps.map(({ kind }) => STEP_KIND[kind])),
    numbers(steps.map(({ state }) => STEP_STATE[state])),
    arrays.bigints(steps.map(({ untilMs }) => (untilMs === null ? null : Math.round(untilMs)))),
    arrays.texts(steps.map(({ value }) => value)),
    arrays.texts(steps.map(({ detail }) => detail)),
  ];
  const request = leaseRequest(keeps.length, (on, careful) => on.query(sql.keepSteps, [now(), careful, ...values]));
  const [row] = await waitOrLeaveOut(connections, request);
  const answers = readNumbers(row![0] as string | null);
  return keeps.map((_, index) => readKept(answers[index] ?? 0));
}

function readKept(answer: number): LeaseAnswer | "full" {
  return answer === KEPT_FULL ? "full" : LEASE_ANSWERS[answer]!;
}

export async function readSteps(context: Context, id: string, fence: number | null, after: string | null): Promise<StepsPage | null> {
  const { connections, sql, now } = context;
  const values = [now(), id, fence === null ? null : encodeFence({ id, fence }), after === null ? null : encodeText(after)];
  const [head, ...rows] = await connections.call(sql.readSteps, values);
  if (head === undefined) return null;
  const steps = rows.map(readStep);
  const isEnd = rows.length === 0 || rows.length === rows[0]![REST_AT];
  return { now: head[STARTED_AT] as number, life: head[REST_AT] as number, steps, cursor: isEnd ? null : steps.at(-1)!.name };
}

/** Columns of `read_steps`. */
const REST_AT = 1;
const STARTED_AT = 5;

function readStep(row: Row): StepRecord {
  const by = row[8] as string | null;
  return {
    name: decodeText(row[0] as string),
    kind: stepKindOf(row[2] as number),
    state: stepStateOf(row[3] as number),
    value: row[10] as string | null,
    until: row[4] as number | null,
    startedAt: row[STARTED_AT] as number,
    endedAt: row[6] as number | null,
    attempt: row[7] as number,
    by: by === null ? null : decodeText(by),
    detail: row[9] as string | null,
  };
}

export async function endSteps(context: Context, ends: readonly StepEnd[]): Promise<StepEndAnswer[]> {
  const answers = await end(context, ends);
  const woken = new Set(answers.flatMap((answer) => (answer.kind === "ok" && answer.woke ? answer.queue : [])));
  if (woken.size > 0) {
    context.housekeeping.wrote(woken.size);
    context.laneStarts.reset();
    context.sendHints(Array.from(woken, (queue): Hint => ({ topic: "work", queue })));
  }
  return answers;
}

async function end(context: Context, ends: readonly StepEnd[]): Promise<StepEndAnswer[]> {
  const { connections, sql, arrays, catalog, now } = context;
  const values = [
    arrays.ids(ends.map(({ id }) => id)),
    arrays.texts(ends.map(({ name }) => encodeText(name))),
    numbers(ends.map(({ kind }) => STEP_KIND[kind])),
    numbers(ends.map(({ state }) => STEP_STATE[state])),
    arrays.texts(ends.map(({ value }) => value)),
    arrays.texts(ends.map(({ by }) => encodeText(by))),
    arrays.ints(ends.map(({ life }) => life)),
    arrays.ints(ends.map(({ from }) => from.reduce((bits, status) => bits | (1 << STATE[status]), 0))),
  ];
  const rows = await waitOrLeaveOut(connections, {
    items: ends.length,
    leavesHeld: ends.some(({ life }) => life !== null),
    ask: (on, careful) => on.query(sql.endSteps, [now(), careful, ...values]),
    leavesOut: (found) => found.some(([, kind]) => kind === STEP_ENDED.leftOut),
  });
  await catalog.learn(rows.flatMap(([, , lane]) => (lane === null ? [] : (lane as number))));
  const answers: StepEndAnswer[] = [];
  for (const row of rows) answers[(row[0] as number) - 1] = readEnded(context, row);
  return answers;
}

function readEnded({ catalog }: Context, row: Row): StepEndAnswer {
  const [, kind, lane, state, woke] = row as [number, number, number, number, boolean];
  switch (kind) {
    case STEP_ENDED.ok: {
      const { type, queue } = catalog.laneOf(lane)!;
      return { kind: "ok", woke, type, queue };
    }
    case STEP_ENDED.late:
      return { kind: "late", state: stepStateOf(state) };
    case STEP_ENDED.full:
      return { kind: "full" };
    case STEP_ENDED.refused:
      return { kind: "refused", status: statusOf(state) };
    case STEP_ENDED.missing:
      return { kind: "missing" };
    default:
      return { kind: "locked" };
  }
}

export async function readNotices(
  { connections, sql, noticeStart }: Context,
  limit: number,
  except: readonly string[] = [],
): Promise<StoredNotice[]> {
  const from = noticeStart.next();
  const leftOut = except.map(Number);
  const began = performance.now();
  const rows = (await connections.call(sql.notices, [limit, numbers(leftOut), from])) as [number, string][];
  const found = rows.map(([number]) => number);
  noticeStart.looked(from, performance.now() - began, found, leftOut);
  return rows.map(([number, notice]) => ({ key: String(number), notice: readNotice(notice) }));
}

export async function dropNotices({ connections, sql, noticeStart }: Context, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  const dropped = keys.map(Number);
  await connections.call(sql.dropNotices, [numbers(dropped)]);
  noticeStart.dropped(dropped);
}
