/** What queues count over time. */
import type { HistoryPoint } from "../api.ts";
import type { Figure } from "./history-card.tsx";

/** How many jobs came and ended. */
export const JOB_FIGURES: readonly Figure[] = [
  { name: "enqueued", colour: "--low", of: ({ enqueued }) => enqueued },
  { name: "completed", colour: "--primary", filled: true, of: ({ completed }) => completed },
  { name: "failed for good", colour: "--dead", filled: true, of: ({ failed }) => failed },
  { name: "retried attempts", colour: "--warning", isExtra: true, of: ({ retried }) => retried },
];

/** Which part of the jobs that ended, and of all attempts, failed. */
export const FAILURE_FIGURES: readonly Figure[] = [
  { name: "jobs that failed for good", colour: "--dead", filled: true, of: ({ failed, completed }) => share(failed, completed) },
  {
    name: "attempts that failed",
    colour: "--warning",
    of: ({ failed, completed, retried }) => share(failed + retried, completed),
  },
];

/** In percent; null if there were none. */
function share(bad: number, good: number): number | null {
  return bad + good === 0 ? null : (bad / (bad + good)) * 100;
}

/** Half, 95 % and 99 % took no longer. */
export function timeFigures(kind: "run" | "wait"): readonly Figure[] {
  const of = (percentile: "p50" | "p95" | "p99") => (point: HistoryPoint) => point[kind]?.[percentile] ?? null;
  return [
    { name: "p50", colour: "--primary", of: of("p50") },
    { name: "p95", colour: "--low", of: of("p95") },
    { name: "p99", colour: "--warning", of: of("p99") },
  ];
}
