import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { isInTallies } from "../../../core/filter.ts";
import { type Status, STATUSES } from "../../../core/job.ts";
import { compact, count } from "../../format.ts";
import { type JobSearch, statusWord } from "../../job-search.ts";
import { STATUS_COLOURS, STATUS_ICONS } from "../../parts/status-badge.tsx";
import { useQueues } from "../../queries.ts";

/** All jobs, or those in one status, each with its count if tallies have it. */
export function StatusTabs({ search }: { readonly search: JobSearch }): ReactElement {
  const { status, cursor: _, ...others } = search;
  const { queue, internal } = others;
  const { data: queues } = useQueues(internal === "true");
  // Without tallies, jobs would have to be counted one by one.
  const counted = isInTallies(others) ? queues?.filter(({ name }) => queue === undefined || name === queue) : undefined;
  const figureOf = (...statuses: readonly Status[]): number | undefined =>
    counted?.flatMap(({ counts }) => statuses.map((each) => counts[each])).reduce((sum, count) => sum + count, 0);
  return (
    <nav aria-label="By status" className="scroll-x -mx-4 flex gap-1 px-4 sm:mx-0 sm:flex-wrap sm:px-0">
      <Tab isOn={status === undefined} search={others} name="all" figure={figureOf(...STATUSES)} />
      {STATUSES.map((each) => (
        <Tab
          key={each}
          isOn={status === statusWord(each)}
          search={{ ...others, status: statusWord(each) }}
          name={each}
          figure={figureOf(each)}
        />
      ))}
    </nav>
  );
}

interface TabProps {
  readonly isOn: boolean;
  readonly search: JobSearch;
  readonly name: "all" | Status;
  readonly figure: number | undefined;
}

function Tab({ isOn, search, name, figure }: TabProps): ReactElement {
  const Icon = name === "all" ? null : STATUS_ICONS[name];
  return (
    <Link
      to="/jobs"
      search={search}
      aria-current={isOn ? "true" : undefined}
      // Other parts of the URL must not decide whether this tab is active.
      activeProps={{}}
      className={`inline-flex h-8 shrink-0 items-center gap-1.5 rounded-md border px-2.5 transition-colors ${isOn ? "border-input bg-accent font-medium text-foreground" : "border-transparent text-muted-foreground hover:bg-accent hover:text-foreground"}`}
    >
      {Icon !== null && name !== "all" && <Icon aria-hidden className={`size-3.5 ${STATUS_COLOURS[name]}`} />}
      {name === "all" ? "All" : name.charAt(0).toUpperCase() + name.slice(1)}
      {figure !== undefined && (
        <span title={count(figure)} className="text-xs text-muted-foreground">
          {compact(figure)}
        </span>
      )}
    </Link>
  );
}
