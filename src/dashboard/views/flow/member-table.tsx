/** THE MEMBERS OF A FLOW AS A TABLE, by name and status. If there are many, those with like names share a row. */
import { getRouteApi } from "@tanstack/react-router";
import { SearchX } from "lucide-react";
import { type ReactElement, useEffect, useMemo, useState } from "react";
import { counted } from "../../../core/counted.ts";
import { ALL_OTHERS } from "../../../core/flow.ts";
import { STATUSES } from "../../../core/job.ts";
import type { FlowMember } from "../../api.ts";
import { countsOf, groupsOf, type MemberGroup } from "../../flows/member-groups.ts";
import { count, NOTHING } from "../../format.ts";
import type { FlowSearch } from "../../job-search.ts";
import { JobLink, TypeLink } from "../../parts/bits.tsx";
import { Button } from "../../parts/button.tsx";
import { Choice } from "../../parts/choice.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Empty } from "../../parts/notices.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { Ago, Duration } from "../../parts/time.tsx";
import { visible } from "../../safe-text.ts";

const route = getRouteApi("/flows/$id");

/** How many rows are shown at first, and with each click. */
const SHOWN = 100;
/** Beyond so many, members with like names share a row. */
const MAX_SINGLE = 50;

const COLUMNS: readonly Column<FlowMember>[] = [
  {
    id: "name",
    title: "Name",
    cell: ({ name, jobId }) => (
      <JobLink id={jobId}>
        <span className="min-w-0 font-sans text-sm font-medium [overflow-wrap:anywhere]">{visible(name)}</span>
      </JobLink>
    ),
    className: "min-w-32 max-w-96",
    place: "title",
  },
  { id: "status", title: "Status", cell: ({ status }) => <StatusBadge status={status} />, place: "corner" },
  { id: "type", title: "Type", cell: ({ queue, type }) => <TypeLink queue={queue} type={type} />, yields: 4 },
  {
    id: "after",
    title: "Waits for",
    cell: ({ after }) => <After after={after} />,
    className: "max-w-56 truncate",
    isEmpty: ({ after }) => after.length === 0,
    yields: 2,
  },
  {
    id: "error",
    title: "Error",
    cell: ({ error }) => (error === null ? none() : <ErrorText error={error} />),
    className: "max-w-72 truncate",
    isEmpty: ({ error }) => error === null,
    yields: 3,
  },
  {
    id: "attempt",
    title: "Attempts",
    cell: ({ attempt }) => count(attempt),
    end: true,
    yields: 5,
    isEmpty: ({ attempt }) => attempt === 0,
  },
  {
    id: "ended",
    title: "Ended",
    cell: ({ endedAt }) => <Ago at={endedAt} />,
    end: true,
    yields: 1,
    isEmpty: ({ endedAt }) => endedAt === null,
  },
  {
    id: "took",
    title: "Duration",
    cell: (member) => <MemberTime member={member} />,
    end: true,
    isEmpty: ({ startedAt }) => startedAt === null,
  },
];

interface MemberTableProps {
  /** In the order in which they are shown. */
  readonly members: readonly FlowMember[];
  readonly search: Omit<FlowSearch, "view">;
}

export function MemberTable({ members, search: { status, q } }: MemberTableProps): ReactElement {
  const found = useMemo(() => {
    const word = q?.toLowerCase();
    return members.filter(
      (member) =>
        (status === undefined || member.status === status) &&
        (word === undefined || member.name.toLowerCase().includes(word) || member.type.toLowerCase().includes(word)),
    );
  }, [members, status, q]);
  const groups = useMemo(() => (found.length > MAX_SINGLE ? groupsOf(found) : null), [found]);
  return (
    <>
      <Filters members={members} status={status} q={q} />
      {found.length === 0 ? (
        <Empty icon={SearchX} title="No matches">
          No member that is read has this name and status.
        </Empty>
      ) : groups !== null && groups.length < found.length ? (
        <Rows key="groups" caption="Members with like names" rows={groups} of={GroupRows} />
      ) : (
        <Rows key="members" caption="Members" rows={found} of={MemberRows} />
      )}
      <p className="border-t px-4 py-2 text-muted-foreground">
        {found.length === members.length
          ? counted(found.length, "member")
          : `${count(found.length)} of ${counted(members.length, "member")}`}
        {groups !== null && groups.length < found.length && `, in ${counted(groups.length, "row")}`}
      </p>
    </>
  );
}

/** How long after the last key the typed text is used. */
const TYPED_MS = 200;

/** The filters are in the URL. */
function Filters({ members, status = "", q = "" }: MemberTableProps["search"] & Pick<MemberTableProps, "members">): ReactElement {
  const navigate = route.useNavigate();
  const [text, setText] = useState(q);
  const [seen, setSeen] = useState(q);
  // The URL was changed by something else: a link, or the back button.
  if (seen !== q) {
    setSeen(q);
    setText(q);
  }
  const set = (change: FlowSearch): void => void navigate({ search: (before) => ({ ...before, view: "table", ...change }), replace: true });
  useEffect(() => {
    if (text === q) return;
    const timer = window.setTimeout(() => set({ q: text === "" ? undefined : text }), TYPED_MS);
    return () => window.clearTimeout(timer);
  });
  const counts = new Map(countsOf(members));
  const options = STATUSES.filter((one) => counts.has(one) || one === status);
  return (
    <div className="flex flex-wrap gap-2 border-b px-4 py-2">
      <input
        type="search"
        aria-label="Name or type"
        placeholder="Name or type"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
        className="h-8 w-56 min-w-0 rounded-md border border-input bg-card px-2.5 max-sm:flex-1"
      />
      <Choice
        label="Status"
        value={status}
        onChange={(value) => set({ status: value || undefined })}
        options={[["", "Any status"], ...options.map((one) => [one, `${one} (${count(counts.get(one) ?? 0)})`] as const)]}
      />
    </div>
  );
}

interface RowsProps<Row> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly of: (props: { readonly caption: string; readonly rows: readonly Row[] }) => ReactElement;
}

/** The first rows, and more with each click. */
function Rows<Row>({ caption, rows, of: Of }: RowsProps<Row>): ReactElement {
  const [shown, setShown] = useState(SHOWN);
  const rest = rows.length - shown;
  return (
    <>
      <Of caption={caption} rows={rows.slice(0, shown)} />
      {rest > 0 && (
        <div className="border-t px-4 py-2">
          <Button onClick={() => setShown(shown + SHOWN)}>
            Show {count(Math.min(SHOWN, rest))} of {count(rest)} more
          </Button>
        </div>
      )}
    </>
  );
}

function MemberRows({ caption, rows }: { readonly caption: string; readonly rows: readonly FlowMember[] }): ReactElement {
  return (
    <DataTable
      caption={caption}
      rows={rows}
      columns={COLUMNS}
      keyOf={({ name }) => name}
      rowProps={({ name }) => ({ "data-member": name })}
    />
  );
}

const GROUP_COLUMNS: readonly Column<MemberGroup>[] = [
  {
    id: "name",
    title: "Name",
    cell: ({ name, members }) =>
      members.length === 1 ? (
        <JobLink id={members[0]!.jobId}>
          <span className="min-w-0 font-sans text-sm font-medium [overflow-wrap:anywhere]">{visible(name)}</span>
        </JobLink>
      ) : (
        <span className="font-medium [overflow-wrap:anywhere]">{visible(name)}</span>
      ),
    className: "min-w-32 max-w-96",
    place: "title",
  },
  {
    id: "counts",
    title: "Status",
    cell: ({ counts, members }) => (
      <span className="flex flex-wrap gap-x-3 gap-y-1">
        {counts.map(([status, number]) => (
          <span key={status} className="inline-flex items-center gap-1.5 whitespace-nowrap">
            {members.length > 1 && count(number)} <StatusBadge status={status} />
          </span>
        ))}
      </span>
    ),
  },
  { id: "members", title: "Members", cell: ({ members }) => count(members.length), end: true },
];

function GroupRows({ caption, rows }: { readonly caption: string; readonly rows: readonly MemberGroup[] }): ReactElement {
  return (
    <DataTable
      caption={caption}
      rows={rows}
      columns={GROUP_COLUMNS}
      keyOf={({ name }) => name}
      rowProps={({ name }) => ({ "data-group": name })}
      details={{
        label: ({ name }) => `Members ${visible(name)}`,
        body: OfGroup,
        has: ({ members }) => members.length > 1,
      }}
    />
  );
}

function OfGroup({ row: { name, members } }: { readonly row: MemberGroup }): ReactElement {
  return (
    <div className="rounded-lg border">
      <Rows caption={`Members ${visible(name)}`} rows={members} of={MemberRows} />
    </div>
  );
}

/** How long a member ran, or has run so far. */
function MemberTime({ member: { status, startedAt, endedAt } }: { readonly member: FlowMember }): ReactElement {
  if (status === "running") return <Duration ms={null} since={startedAt} />;
  return <Duration ms={startedAt === null || endedAt === null ? null : Math.max(0, endedAt - startedAt)} />;
}

function After({ after }: Pick<FlowMember, "after">): ReactElement {
  if (after.length === 0) return none();
  const text = after === ALL_OTHERS ? "all others" : visible(after.join(", "));
  return <span title={text}>{text}</span>;
}

function ErrorText({ error: { name, message } }: { readonly error: NonNullable<FlowMember["error"]> }): ReactElement {
  const text = visible(`${name}: ${message}`);
  return (
    <span title={text} className="text-dead">
      {text}
    </span>
  );
}

function none(): ReactElement {
  return <span className="text-muted-foreground">{NOTHING}</span>;
}
