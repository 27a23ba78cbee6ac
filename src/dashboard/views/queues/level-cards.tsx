import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { PriorityLevel } from "../../../core/job.ts";
import type { Stats } from "../../api.ts";
import { compact, percent } from "../../format.ts";
import { LEVEL_FILLS, LEVELS } from "../../parts/priority.tsx";

const RANGES: Readonly<Record<PriorityLevel, string>> = { critical: "20 and above", high: "10 to 19", default: "0 to 9", low: "below 0" };

/** A card for each priority level: how many jobs wait in all queues. */
export function LevelCards({ stats }: { readonly stats: Stats }): ReactElement {
  const total = LEVELS.reduce((sum, level) => sum + stats.waiting[level], 0);
  return (
    <ul className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      {LEVELS.map((level) => (
        <li key={level} className="min-w-0">
          <Link
            to="/jobs"
            search={{ priority: level, status: "pending,scheduled,retrying" }}
            className="block rounded-xl border bg-card px-4 py-3 transition-colors hover:border-input hover:bg-muted/60"
          >
            <span className="flex items-center gap-1.5 text-xs font-medium text-muted-foreground">
              <span aria-hidden className={`size-2 rounded-full ${LEVEL_FILLS[level]}`} />
              {level}
              <span className="ml-auto font-normal max-sm:hidden">{RANGES[level]}</span>
            </span>
            <span className="mt-0.5 block text-2xl font-semibold tracking-tight">{compact(stats.waiting[level])}</span>
            <span className="mt-0.5 block text-xs text-muted-foreground">
              {total === 0 ? "no waiting jobs" : `${percent(stats.waiting[level], total)} of waiting jobs`}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
