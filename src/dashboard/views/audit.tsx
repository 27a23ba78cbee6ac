/** THE AUDIT: who changed what by hand, when, and why. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { ScrollText, X } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { AUDIT_ACTIONS, AUDIT_KEPT_MS, type AuditEntry, MAX_AUDIT_ENTRIES } from "../../core/audit.ts";
import { counted } from "../../core/counted.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { AUDIT_WORDS } from "../audit-words.ts";
import { count, NOTHING, shortId } from "../format.ts";
import { usePaging } from "../job-list/paging.ts";
import { Pager } from "../job-list/pager.tsx";
import type { AuditSearch } from "../job-search.ts";
import { Button } from "../parts/button.tsx";
import { Card, PageHead } from "../parts/card.tsx";
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
  },
  {
    id: "action",
    title: "Change",
    cell: ({ action }) => <span className="font-medium sm:whitespace-nowrap">{AUDIT_WORDS[action]}</span>,
    place: "title",
  },
  { id: "what", title: "What", cell: (entry) => <What entry={entry} />, className: "whitespace-nowrap" },
  { id: "queue", title: "Queue", cell: ({ queue }) => (queue === null ? none() : <Narrow search={{ queue }}>{queue}</Narrow>), yields: 3 },
  { id: "details", title: "Details", cell: ({ details }) => textOr(details), className: "max-w-52 truncate", yields: 1 },
  { id: "reason", title: "Reason", cell: ({ reason }) => textOr(reason), className: "max-w-52 truncate", yields: 2 },
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
          <select
            aria-label="Kind of change"
            value={filter.action ?? ""}
            onChange={({ target }) => set({ action: AUDIT_ACTIONS.find((action) => action === target.value) })}
            className="h-8 rounded-md border border-input bg-card pr-6 pl-2"
          >
            <option value="">All changes</option>
            {AUDIT_ACTIONS.map((action) => (
              <option key={action} value={action}>
                {AUDIT_WORDS[action]}
              </option>
            ))}
          </select>
        }
      >
        Who changed what by hand. Entries are kept for {AUDIT_KEPT_MS / DAY_MS} days, at most {count(MAX_AUDIT_ENTRIES)} of them.
      </PageHead>
      <div className="space-y-3">
        {FILTERS.map(
          ([name, label]) =>
            filter[name] !== undefined && (
              <Button key={name} look="quiet" icon={X} onClick={() => set({ [name]: undefined })}>
                {label}: {visible(filter[name])}
              </Button>
            ),
        )}
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

/** A value that is a filter, too. */
function Narrow({ search, children }: { readonly search: AuditSearch; readonly children: string }): ReactElement {
  return (
    <Link to="/audit" search={(before) => ({ ...before, ...search, cursor: undefined })} className="underline-offset-2 hover:underline">
      {visible(children)}
    </Link>
  );
}

function What({ entry: { schedule, jobId } }: { readonly entry: AuditEntry }): ReactNode {
  if (schedule !== null) return visible(schedule);
  if (jobId === null) return none();
  return (
    <Link to="/jobs/$id" params={{ id: jobId }} className="font-mono text-xs underline-offset-2 hover:underline">
      …{shortId(jobId)}
    </Link>
  );
}

function textOr(text: string | null): ReactNode {
  return text === null ? (
    none()
  ) : (
    <span className="wrap-anywhere" title={visible(text)}>
      {visible(text)}
    </span>
  );
}

function none(): ReactElement {
  return <span className="text-muted-foreground">{NOTHING}</span>;
}
