import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { STATUSES } from "../../../core/job.ts";
import type { Queue } from "../../api.ts";
import { compact, count } from "../../format.ts";
import { statusWord } from "../../job-search.ts";
import { STATUS_ICONS } from "../../parts/status-badge.tsx";

/** How many jobs are in each status, each with a link to them. */
export function StatusCards({ queue: { name, counts } }: { readonly queue: Queue }): ReactElement {
  return (
    <ul aria-label="Jobs by status" className="grid grid-cols-[repeat(auto-fit,minmax(6.6rem,1fr))] gap-2">
      {STATUSES.map((status) => {
        const Icon = STATUS_ICONS[status];
        const value = counts[status];
        return (
          <li key={status} className="min-w-0">
            <Link
              to="/jobs"
              search={{ queue: name, status: statusWord(status) }}
              title={count(value)}
              className="block rounded-xl border bg-card px-2.5 py-2 transition-colors hover:border-input hover:bg-muted/60"
            >
              <span className="flex items-center gap-1.5 text-xs font-medium text-muted-foreground">
                <Icon aria-hidden className="size-3.5 shrink-0" />
                <span className="truncate">{status}</span>
              </span>
              <span className={`block text-xl font-semibold tracking-tight ${status === "dead" && value > 0 ? "text-dead" : ""}`}>
                {compact(value)}
              </span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
