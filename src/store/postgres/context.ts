import type { JobRecord, JobSummaryRecord } from "../../core/job.ts";
import type { Hint } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import { laneOf, readJob, readSummary, type Row } from "./codec.ts";
import type { Connections } from "./connections.ts";
import type { DueStart, LaneStarts } from "./read-starts.ts";
import type { Housekeeping } from "./housekeeping.ts";
import type { Statements } from "./statements.ts";

/** What every verb works with. */
export interface Context {
  readonly connections: Connections;
  readonly sql: Statements;
  readonly catalog: Catalog;
  readonly housekeeping: Housekeeping;
  readonly laneStarts: LaneStarts;
  readonly dueStart: DueStart;
  /** Queues that were seen to have a capacity, and until when that is believed: their jobs go the careful way at once. */
  readonly bounded: Map<string, number>;
  /** The time that a test rules, else null: the server's own. */
  readonly now: () => number | null;
  /** Tells this process and others, after the commit. */
  readonly ring: (hints: readonly Hint[]) => void;
  /** Rings `work` for queues by their numbers. */
  readonly ringQueues: (ids: readonly number[]) => void;
}

/** Reads jobs from rows whose job columns begin at `from`, once their lanes are known. */
export async function readJobs(context: Context, rows: readonly Row[], from = 0): Promise<JobRecord[]> {
  await context.catalog.learn(rows.map((row) => laneOf(row, from)));
  return rows.map((row) => readJob(row, context.catalog.laneOf(laneOf(row, from))!, from));
}

export async function readSummaries(context: Context, rows: readonly Row[], from = 0): Promise<JobSummaryRecord[]> {
  await context.catalog.learn(rows.map((row) => laneOf(row, from)));
  return rows.map((row) => readSummary(row, context.catalog.laneOf(laneOf(row, from))!, from));
}

/** Cuts a list into rounds in which no key is twice, so that a function never meets one job or key twice in a call. Keeps the order. */
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

/** The rounds of a list in which a job may be named twice. */
export function roundsById(items: readonly { readonly id: string }[]): number[][] {
  return rounds(items, ({ id }) => id);
}

/** Asks round by round, so that the second of two that are the same meets what the first one left. Answers in the order of the items. */
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

/** Reads an array of texts that need no quotes, as the server writes it. */
export function readTexts(text: string | null): string[] {
  return text === null || text === "{}" ? [] : text.slice(1, -1).split(",");
}

/** Reads an array of small numbers as the server writes it. */
export function readNumbers(text: string | null): number[] {
  return readTexts(text).map(Number);
}
