import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { Queue, Stats, Worker } from "../../api.ts";
import { OLD_MS } from "../../../core/attention.ts";
import { counted } from "../../../core/counted.ts";
import { compact, count, NOTHING, percent, rate, roughSpan, took } from "../../format.ts";
import type { JobSearch } from "../../job-search.ts";

interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: ReactNode;
  /** A second line. */
  readonly more?: string | undefined;
  /** What the numbers are of, where the card has no room for it. */
  readonly title?: string;
  readonly to: "/jobs" | "/dead" | "/queues" | "/workers";
  readonly search?: JobSearch;
  readonly colour?: string;
}

interface FiguresOf {
  readonly stats: Stats;
  readonly workers: readonly Worker[];
  readonly queues: readonly Queue[];
}

/** The most important numbers, each a link to what it counts. */
export function FigureCards(situation: FiguresOf): ReactElement {
  return (
    <ul className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
      {figuresOf(situation).map((figure) => (
        <FigureCard key={figure.name} figure={figure} />
      ))}
    </ul>
  );
}

function figuresOf({ stats, workers, queues }: FiguresOf): Figure[] {
  const ages = queues.flatMap(({ oldestWaitingMs }) => oldestWaitingMs ?? []);
  const oldest = ages.length === 0 ? null : Math.max(...ages);
  const { counts, today, totalProcessed, totalFailed } = stats;
  const ended = today.processed + today.failed;
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  const busy = workers.reduce((sum, worker) => sum + worker.runningCount, 0);
  return [
    {
      name: "Processed today",
      value: compact(today.processed),
      note: `${count(totalProcessed)} in total, ${rate(stats.throughput)}`,
      title: "Completed since midnight UTC; the rate is that of the last full minute",
      to: "/jobs",
      search: { status: "completed" },
    },
    {
      name: "Failed today",
      value: compact(today.failed),
      note: `for good; ${count(totalFailed)} overall`,
      title: "Ended dead or failed since midnight UTC",
      to: "/jobs",
      search: { status: "failed" },
      colour: today.failed > 0 ? "text-dead" : "",
    },
    {
      name: "Success rate",
      value: percent(today.processed, ended),
      note: `${percent(totalProcessed, totalProcessed + totalFailed)} overall`,
      title: "Of the jobs that completed or failed for good since midnight UTC",
      to: "/dead",
    },
    { name: "Active workers", value: count(stats.activeWorkers), note: `${count(busy)} of ${counted(slots, "slot")} busy`, to: "/workers" },
    {
      name: "Waiting",
      value: compact(counts.pending + counts.scheduled + counts.retrying),
      note: `${count(counts.pending)} pending`,
      more: counts.blocked === 0 ? undefined : `plus ${count(counts.blocked)} blocked`,
      title: "Pending, scheduled and retrying. Blocked jobs wait for a signal or for another job, not for a worker",
      to: "/jobs",
      search: { status: "pending,scheduled,retrying" },
    },
    {
      name: "Oldest waiting",
      value: oldest === null ? NOTHING : roughSpan(oldest),
      note: `p95 wait: ${took(stats.wait.p95)}`,
      to: "/queues",
      colour: oldest !== null && oldest >= OLD_MS ? "text-warning" : "",
    },
  ];
}

function FigureCard({ figure: { name, value, note, more, title, to, search, colour = "" } }: { readonly figure: Figure }): ReactElement {
  return (
    <li className="min-w-0">
      <Link
        to={to}
        search={search ?? {}}
        title={title}
        className="block h-full rounded-xl border bg-card px-4 py-3 transition-colors hover:border-input hover:bg-muted/60"
      >
        <span className="block truncate text-xs font-medium text-muted-foreground">{name}</span>
        <span className={`mt-0.5 block truncate text-2xl font-semibold tracking-tight ${colour}`}>{value}</span>
        <span className="mt-0.5 block truncate text-xs text-muted-foreground">{note}</span>
        {more !== undefined && <span className="block truncate text-xs text-muted-foreground">{more}</span>}
      </Link>
    </li>
  );
}
