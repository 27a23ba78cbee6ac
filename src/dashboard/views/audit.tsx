/** THE AUDIT: who changed what by hand, when, and why. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { ScrollText } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { AUDIT_ACTIONS, AUDIT_KEPT_MS, type AuditAction, type AuditEntry, MAX_AUDIT_ENTRIES } from "../../core/audit.ts";
import { counted } from "../../core/counted.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { AUDIT_WORDS } from "../audit-words.ts";
import { count, NOTHING } from "../format.ts";
import { FlowLink } from "../flows/flow-parts.tsx";
import { usePaging } from "../job-list/paging.ts";
import { Pager } from "../job-list/pager.tsx";
import type { AuditSearch } from "../job-search.ts";
import { ActiveFilters } from "../parts/active-filters.tsx";
import { JobLink } from "../parts/bits.tsx";
import { Card, PageHead } from "../parts/card.tsx";
import { Choice } from "../parts/choice.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { Moment } from "../parts/time.tsx";
import { usePreference } from "../preferences.ts";
import { useAudit } from "../queries.ts";
import { visible } from "../safe-text.ts";

const route = getRouteApi("/audit");

const COLUMNS: readonly Column<AuditEntry>[] = [
  { id: "at", title: "When", cell: ({ at }) => <Moment at={at} />, place: "corner" },
  {
    id: "by",
    title: "By",
    cell: ({ by }) => (by === null ? none() : <Narrow search={{ by }}>{by}</Narrow>),
    className: "max-w-40 truncate",
    isEmpty: ({ by }) => by === null,
  },
  {
    id: "action",
    title: "Change",
    cell: ({ action }) => <span className="font-medium sm:whitespace-nowrap">{AUDIT_WORDS[action]}</span>,
    place: "title",
  },
  {
    id: "what",
    title: "What",
    cell: (entry) => <What entry={entry} />,
    className: "whitespace-nowrap",
    isEmpty: ({ schedule, jobId }) => schedule === null && jobId === null,
  },
  {
    id: "queue",
    title: "Queue",
    cell: ({ queue }) => (queue === null ? none() : <Narrow search={{ queue }}>{queue}</Narrow>),
    yields: 3,
    isEmpty: ({ queue }) => queue === null,
  },
  {
    id: "details",
    title: "Details",
    cell: ({ details }) => textOr(details),
    className: "max-w-64",
    yields: 1,
    isEmpty: ({ details }) => details === null,
  },
  {
    id: "reason",
    title: "Reason",
    cell: ({ reason }) => textOr(reason),
    className: "max-w-64",
    yields: 2,
    isEmpty: ({ reason }) => reason === null,
  },
];

/** The filters that one removes by a button; the kind of change is chosen from a list. */
const FILTERS = [
  ["by", "by"],
  ["queue", "queue"],
  ["jobId", "job"],
] as const;

export function Audit(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { cursor, ...filter } = search;
  const [limit] = usePreference("pageSize");
  const result = useAudit({ ...filter, limit, cursor });
  const { next, previous, first } = usePaging(cursor, result.data?.cursor);
  const set = (change: AuditSearch): void => void navigate({ search: (before) => ({ ...before, ...change, cursor: undefined }) });
  return (
    <>
      <PageHead
        title="Audit"
        actions={
          <Choice
            label="Kind of change"
            value={filter.action ?? ""}
            onChange={(value) => set({ action: AUDIT_ACTIONS.find((action) => action === value) })}
            options={[["", "All changes"], ...AUDIT_ACTIONS.map((action) => [action, AUDIT_WORDS[action]] as const)]}
          />
        }
      >
        Who changed what by hand. Entries are kept for {AUDIT_KEPT_MS / DAY_MS} days, at most {count(MAX_AUDIT_ENTRIES)} of them.
      </PageHead>
      <div className="space-y-3">
        <ActiveFilters
          filters={FILTERS.flatMap(([name, label]) => (filter[name] === undefined ? [] : [{ name, label, value: visible(filter[name]) }]))}
          onRemove={(names) => set(Object.fromEntries(names.map((name) => [name, undefined])))}
        />
        <Card flush>
          <Loaded result={result}>
            {({ entries }) => (
              <>
                {entries.length === 0 ? (
                  <NoEntries isFiltered={Object.keys(filter).length > 0} />
                ) : (
                  <DataTable caption="Changes" rows={entries} columns={COLUMNS} keyOf={({ number }) => String(number)} />
                )}
                <Pager onFirst={first} onPrevious={previous} onNext={next}>
                  {counted(entries.length, "change")} on this page, the newest first
                </Pager>
              </>
            )}
          </Loaded>
        </Card>
      </div>
    </>
  );
}

function NoEntries({ isFiltered }: { readonly isFiltered: boolean }): ReactElement {
  return (
    <Empty icon={ScrollText} title={isFiltered ? "No matches" : "No changes"}>
      {isFiltered
        ? "Remove a filter, or choose another kind of change."
        : "Retries, cancels, pauses and the like are listed here once somebody makes one."}
    </Empty>
  );
}

/** What is done with a flow is told with the id of the flow. */
const FLOW_ACTIONS: readonly AuditAction[] = ["flow:cancelled", "flow:retried"];

/** A value that is a filter, too. */
function Narrow({ search, children }: { readonly search: AuditSearch; readonly children: string }): ReactElement {
  return (
    <Link to="/audit" search={(before) => ({ ...before, ...search, cursor: undefined })} className="underline-offset-2 hover:underline">
      {visible(children)}
    </Link>
  );
}

function What({ entry: { action, schedule, jobId } }: { readonly entry: AuditEntry }): ReactNode {
  if (schedule !== null) return visible(schedule);
  if (jobId === null) return none();
  return FLOW_ACTIONS.includes(action) ? <FlowLink flow={{ id: jobId }} /> : <JobLink id={jobId} />;
}

function textOr(text: string | null): ReactNode {
  return text === null ? (
    none()
  ) : (
    <span className="wrap-anywhere sm:line-clamp-3" title={visible(text)}>
      {visible(text)}
    </span>
  );
}

function none(): ReactElement {
  return <span className="text-muted-foreground">{NOTHING}</span>;
}
