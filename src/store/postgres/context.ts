import type { JobRecord, JobSummaryRecord } from "../../core/job.ts";
import type { Hint } from "../store.ts";
import type { Arrays } from "./arrays.ts";
import type { Catalog } from "./catalog.ts";
import { laneOf, readJob, readSummary, type Row } from "./codec.ts";
import type { Connections } from "./connections.ts";
import type { DueStart, LaneStarts, NoticeStart } from "./read-starts.ts";
import type { Housekeeping } from "./housekeeping.ts";
import type { Statements } from "./statements.ts";

/** What every verb works with. */
export interface Context {
  readonly connections: Connections;
  readonly sql: Statements;
  /** How arrays are sent over our connections. */
  readonly arrays: Arrays;
  readonly catalog: Catalog;
  readonly housekeeping: Housekeeping;
  readonly laneStarts: LaneStarts;
  readonly dueStart: DueStart;
  readonly noticeStart: NoticeStart;
  /** Queues that had a capacity, and until when we assume that: their jobs take the careful way at once. */
  readonly bounded: Map<string, number>;
  /** The time of a test's clock, else null for the server's. */
  readonly now: () => number | null;
  /** Sends hints to this process and others, after the commit. */
  readonly sendHints: (hints: readonly Hint[]) => void;
  /** Sends `work` hints for queues, given by number. */
  readonly sendWorkHints: (ids: readonly number[]) => void;
}

/** Reads jobs from rows whose job columns begin at `from`, and looks up unknown lanes. */
export async function readJobs(context: Context, rows: readonly Row[], from = 0): Promise<JobRecord[]> {
  await context.catalog.learn(rows.map((row) => laneOf(row, from)));
  return rows.map((row) => readJob(row, context.catalog.laneOf(laneOf(row, from))!, from));
}

export async function readSummaries(context: Context, rows: readonly Row[], from = 0): Promise<JobSummaryRecord[]> {
  await context.catalog.learn(rows.map((row) => laneOf(row, from)));
  return rows.map((row) => readSummary(row, context.catalog.laneOf(laneOf(row, from))!, from));
}

/** Splits a list into rounds without equal keys, so that no call of a function has a job or key twice. Keeps the order. */
export function rounds<Item>(items: readonly Item[], keyOf: (item: Item) => string | null): number[][] {
  const turns = new Map<string, number>();
  const found: number[][] = [];
  items.forEach((item, index) => {
    const key = keyOf(item);
    const turn = key === null ? 0 : (turns.get(key) ?? 0);
    if (key !== null) turns.set(key, turn + 1);
    (found[turn] ??= []).push(index);
  });
  return found;
}

export function roundsById(items: readonly { readonly id: string }[]): number[][] {
  return rounds(items, ({ id }) => id);
}

/** Asks round by round, so that the second of two equal items sees the result of the first. Answers in the order of the items. */
export async function inRounds<Item, Answer>(
  items: readonly Item[],
  turns: readonly (readonly number[])[],
  ask: (batch: readonly Item[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const turn of turns) {
    const found = await ask(pick(items, turn));
    turn.forEach((index, at) => (answers[index] = found[at]!));
  }
  return answers;
}

export function pick<Item>(items: readonly Item[], indexes: readonly number[]): readonly Item[] {
  return indexes.length === items.length ? items : indexes.map((index) => items[index]!);
}

/** Reads an array as the server writes it, of texts without quotes. */
export function readTexts(text: string | null): string[] {
  return text === null || text === "{}" ? [] : text.slice(1, -1).split(",");
}

export function readNumbers(text: string | null): number[] {
  return readTexts(text).map(Number);
}
