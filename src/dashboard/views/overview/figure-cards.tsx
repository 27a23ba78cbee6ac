import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { Stats, Worker } from "../../api.ts";
import { compact, count, percent, rate, took } from "../../format.ts";
import type { JobSearch } from "../../job-search.ts";

interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: ReactNode;
  readonly to: "/jobs" | "/dead" | "/queues" | "/workers";
  readonly search?: JobSearch;
  readonly colour?: string;
}

/** The figures that one looks at first, each a link to what it counts. */
export function FigureCards({ stats, workers }: { readonly stats: Stats; readonly workers: readonly Worker[] }): ReactElement {
  return (
    <ul className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
      {figuresOf(stats, workers).map((figure) => (
        <FigureCard key={figure.name} figure={figure} />
      ))}
    </ul>
  );
}

function figuresOf(stats: Stats, workers: readonly Worker[]): Figure[] {
  const { counts, today, totalProcessed, totalFailed } = stats;
  const ended = today.processed + today.failed;
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  const busy = workers.reduce((sum, worker) => sum + worker.runningCount, 0);
  return [
    {
      name: "Processed today",
      value: compact(today.processed),
      note: `${count(totalProcessed)} in all, ${rate(stats.throughput)}`,
      to: "/jobs",
      search: { status: "completed" },
    },
    {
      name: "Failed today",
      value: compact(today.failed),
      note: `${count(totalFailed)} in all`,
      to: "/jobs",
      search: { status: "failed" },
      colour: today.failed > 0 ? "text-dead" : "",
    },
    {
      name: "Success rate",
      value: percent(today.processed, ended),
      note: `${percent(totalProcessed, totalProcessed + totalFailed)} in all`,
      to: "/dead",
    },
    { name: "Active workers", value: count(stats.activeWorkers), note: `${count(busy)} of ${count(slots)} slots busy`, to: "/workers" },
    {
      name: "Waiting",
      value: compact(counts.pending + counts.scheduled + counts.retrying),
      note: `${count(counts.pending)} pending`,
      to: "/jobs",
      search: { status: "pending,scheduled,retrying" },
    },
    {
      name: "Waited (p95)",
      value: took(stats.wait.p95),
      note: `ran ${took(stats.latency.p95)} (p95)`,
      to: "/queues",
    },
  ];
}

function FigureCard({ figure: { name, value, note, to, search, colour = "" } }: { readonly figure: Figure }): ReactElement {
  return (
    <li className="min-w-0">
      <Link
        to={to}
        search={search ?? {}}
        className="block h-full rounded-xl border bg-card px-4 py-3 transition-colors hover:border-input hover:bg-muted/60"
      >
        <span className="block truncate text-xs font-medium text-muted-foreground">{name}</span>
        <span className={`mt-0.5 block truncate text-2xl font-semibold tracking-tight ${colour}`}>{value}</span>
        <span className="mt-0.5 block truncate text-xs text-muted-foreground">{note}</span>
      </Link>
    </li>
  );
}
