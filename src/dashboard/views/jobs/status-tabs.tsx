import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { isInTallies } from "../../../core/filter.ts";
import { type Status, STATUSES } from "../../../core/job.ts";
import { compact, count } from "../../format.ts";
import { type JobSearch, statusesIn, statusWord } from "../../job-search.ts";
import { Choice } from "../../parts/choice.tsx";
import { useIsNarrow } from "../../parts/narrow.ts";
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
  const tabs: readonly Tab[] = [
    { name: "all", value: undefined, figure: figureOf(...STATUSES) },
    ...STATUSES.map((name) => ({ name, value: statusWord(name), figure: figureOf(name) })),
  ];
  const isNarrow = useIsNarrow();
  if (isNarrow) return <StatusChoice tabs={tabs} status={status} />;
  return (
    <nav aria-label="By status" className="flex flex-wrap gap-1">
      {tabs.map((tab) => (
        <TabLink key={tab.name} tab={tab} isOn={status === tab.value} search={{ ...others, status: tab.value }} />
      ))}
    </nav>
  );
}

interface Tab {
  readonly name: "all" | Status;
  /** Of the filter. */
  readonly value: string | undefined;
  readonly figure: number | undefined;
}

const wordOf = ({ name }: Tab): string => name.charAt(0).toUpperCase() + name.slice(1);

/** On a narrow screen, where the tabs would need four lines. */
function StatusChoice({ tabs, status = "" }: { readonly tabs: readonly Tab[]; readonly status: string | undefined }): ReactElement {
  const navigate = useNavigate();
  const options = tabs.map((tab): readonly [string, string] => [
    tab.value ?? "",
    `${wordOf(tab)}${tab.figure === undefined ? "" : ` (${count(tab.figure)})`}`,
  ]);
  // A filter by several statuses is no tab; a choice that shows another one would be false.
  const several = options.some(([value]) => value === status) ? [] : [[status, statusesIn(status)?.join(", ") ?? status] as const];
  return (
    <div className="grid">
      <Choice
        label="Status"
        value={status}
        options={[...options, ...several]}
        onChange={(value) =>
          void navigate({ to: "/jobs", search: (before) => ({ ...before, status: value || undefined, cursor: undefined }) })
        }
      />
    </div>
  );
}

interface TabLinkProps {
  readonly tab: Tab;
  readonly isOn: boolean;
  readonly search: JobSearch;
}

function TabLink({ tab, isOn, search }: TabLinkProps): ReactElement {
  const { name, figure } = tab;
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
      {wordOf(tab)}
      {figure !== undefined && (
        <span title={count(figure)} className="text-xs text-muted-foreground">
          {compact(figure)}
        </span>
      )}
    </Link>
  );
}
