import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { FLOW_QUEUE, FLOW_STATUSES, type FlowStatus, jobStatusOf } from "../../../core/flow.ts";
import { compact, count } from "../../format.ts";
import { Choice } from "../../parts/choice.tsx";
import { useIsNarrow } from "../../parts/narrow.ts";
import { STATUS_COLOURS, STATUS_ICONS } from "../../parts/status-badge.tsx";
import { useQueues } from "../../queries.ts";

interface Tab {
  readonly value: FlowStatus | undefined;
  readonly name: string;
  readonly figure: number | undefined;
}

/** All flows, or those in one status, each with its count: the tallies of the queue in which flows are. */
export function FlowTabs({ status }: { readonly status: FlowStatus | undefined }): ReactElement {
  const navigate = useNavigate();
  const isNarrow = useIsNarrow();
  const { data: queues } = useQueues(true);
  const counts = queues?.find(({ name }) => name === FLOW_QUEUE)?.counts;
  const figureOf = (one: FlowStatus): number | undefined => (queues === undefined ? undefined : (counts?.[jobStatusOf(one)] ?? 0));
  const figures = FLOW_STATUSES.map(figureOf);
  const tabs: readonly Tab[] = [
    { value: undefined, name: "All", figure: queues === undefined ? undefined : figures.reduce<number>((sum, one) => sum + (one ?? 0), 0) },
    ...FLOW_STATUSES.map((one, index) => ({ value: one, name: one.charAt(0).toUpperCase() + one.slice(1), figure: figures[index] })),
  ];
  if (isNarrow) {
    return (
      <div className="grid">
        <Choice
          label="Status"
          value={status ?? ""}
          options={tabs.map(({ value = "", name, figure }) => [value, figure === undefined ? name : `${name} (${count(figure)})`] as const)}
          onChange={(value) => void navigate({ to: "/flows", search: { status: FLOW_STATUSES.find((one) => one === value) } })}
        />
      </div>
    );
  }
  return (
    <nav aria-label="By status" className="flex flex-wrap gap-1">
      {tabs.map((tab) => (
        <TabLink key={tab.name} tab={tab} isOn={status === tab.value} />
      ))}
    </nav>
  );
}

function TabLink({ tab: { value, name, figure }, isOn }: { readonly tab: Tab; readonly isOn: boolean }): ReactElement {
  const Icon = value === undefined ? null : STATUS_ICONS[value];
  return (
    <Link
      to="/flows"
      search={{ status: value }}
      aria-current={isOn ? "true" : undefined}
      // Other parts of the URL must not decide whether this tab is active.
      activeProps={{}}
      className={`inline-flex h-8 shrink-0 items-center gap-1.5 rounded-md border px-2.5 transition-colors ${isOn ? "border-input bg-accent font-medium text-foreground" : "border-transparent text-muted-foreground hover:bg-accent hover:text-foreground"}`}
    >
      {Icon !== null && value !== undefined && <Icon aria-hidden className={`size-3.5 ${STATUS_COLOURS[value]}`} />}
      {name}
      {figure !== undefined && (
        <span title={count(figure)} className="text-xs text-muted-foreground">
          {compact(figure)}
        </span>
      )}
    </Link>
  );
}
