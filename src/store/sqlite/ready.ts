import { rankOf, type Row, seqOf } from "./codec.ts";
import { NO_LANE } from "./lane-numbers.ts";
import { readyJobs } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

/** A statement has one arm per lane; with more than this, planning takes longer than running. */
const MOST_ARMS = 64;

/** The first jobs of all lanes. If one statement cannot take all lanes, merges the first jobs of each group of lanes. */
export function firstReady(tx: Transaction, lanes: readonly number[], limit: number): Row[] {
  if (lanes.length === 0) return [];
  if (lanes.length <= MOST_ARMS) return tx.on.all(textFor(lanes.length, limit), ...padded(lanes)).slice(0, limit);
  const rows: Row[] = [];
  for (let at = 0; at < lanes.length; at += MOST_ARMS) rows.push(...firstReady(tx, lanes.slice(at, at + MOST_ARMS), limit));
  return rows.sort((a, b) => rankOf(a) - rankOf(b) || seqOf(a) - seqOf(b)).slice(0, limit);
}

const TEXTS = new Map<number, string>();

/** Rounds arms and limit up, so that few statements serve all: extra rows are ignored, extra lanes are empty. */
function textFor(lanes: number, limit: number): string {
  const arms = powerOfTwo(lanes);
  const most = roundedUp(limit);
  const key = most * MOST_ARMS * 2 + arms;
  let text = TEXTS.get(key);
  if (text === undefined) TEXTS.set(key, (text = readyJobs(arms, most)));
  return text;
}

function padded(lanes: readonly number[]): readonly number[] {
  const missing = powerOfTwo(lanes.length) - lanes.length;
  return missing === 0 ? lanes : [...lanes, ...Array.from({ length: missing }, () => NO_LANE)];
}

function powerOfTwo(least: number): number {
  return 2 ** Math.ceil(Math.log2(least));
}

/** Rounds to eighths of a power of two: at most an eighth is read in vain, with at most 64 texts for each number of arms. */
export function roundedUp(limit: number): number {
  const step = Math.max(1, powerOfTwo(limit) / 16);
  return Math.ceil(limit / step) * step;
}
