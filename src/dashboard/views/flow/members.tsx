/** THE MEMBERS OF A FLOW, as a graph or as a table. */
import { getRouteApi } from "@tanstack/react-router";
import { Table2, Workflow } from "lucide-react";
import { lazy, type ReactElement, Suspense, useMemo, useState } from "react";
import { counted } from "../../../core/counted.ts";
import type { Flow } from "../../api.ts";
import { criticalPath } from "../../flows/critical-path.ts";
import type { SomeMembers } from "../../flows/flow-queries.ts";
import { inOrder, isDrawable, isTall, MAX_DRAWN, shapeOf } from "../../flows/flow-shape.ts";
import { count } from "../../format.ts";
import type { FlowSearch } from "../../job-search.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { useIsNarrow } from "../../parts/narrow.ts";
import { Loaded, Skeleton } from "../../parts/notices.tsx";
import { MemberTable } from "./member-table.tsx";

// With the library that places the boxes: most pages draw no graph.
const FlowGraph = lazy(() => import("./graph.tsx"));

const route = getRouteApi("/flows/$id");

/** How many members are read at first, and with each click. */
const READ = 10_000;

/** How many members to read, and what reads more. */
export function useMost(): [most: number, readMore: () => void] {
  const [most, setMost] = useState(READ);
  return [most, () => setMost(most + READ)];
}

interface MembersProps {
  readonly flow: Flow;
  readonly result: Parameters<typeof Loaded<SomeMembers>>[0]["result"];
  readonly onMore: () => void;
}

export function Members({ flow, result, onMore }: MembersProps): ReactElement {
  const { data: known } = result;
  const isNarrow = useIsNarrow();
  const { view, ...search } = route.useSearch();
  const members = known?.members;
  // Also of more members than are drawn: their order follows from it, if it costs little.
  const shape = useMemo(() => (members === undefined || members.length > MAX_DRAWN ? null : shapeOf(members)), [members]);
  const hasGraph = shape !== null && known?.isAll === true && isDrawable(shape);
  // Whoever searches wants a list. And on a phone, a graph is mostly beyond the screen, as a tall one is on any screen.
  const wantsTable = isNarrow || search.q !== undefined || search.status !== undefined || (shape !== null && isTall(shape));
  const shown = view ?? (wantsTable ? "table" : "graph");
  const path = useMemo(() => {
    const parts = hasGraph && flow.endedAt !== null ? criticalPath(members ?? [], flow.createdAt, flow.endedAt) : [];
    return new Set(parts.map(({ member }) => member.name));
  }, [hasGraph, members, flow.createdAt, flow.endedAt]);
  return (
    <Card title="Members" flush aside={hasGraph && <Views shown={shown} />}>
      <Loaded result={result} lines={8}>
        {(some) =>
          hasGraph && shown === "graph" ? (
            <Suspense fallback={<Skeleton lines={8} />}>
              <FlowGraph flow={flow} members={some.members} shape={shape} path={path} />
            </Suspense>
          ) : (
            <>
              <MemberTable members={inOrder(some.members, shape ?? { columns: new Map() })} search={search} />
              {!some.isAll && (
                <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-t px-4 py-2">
                  <p className="min-w-40 flex-1 text-muted-foreground">
                    {count(some.members.length)} of {counted(flow.members, "member")} are read and searched.
                  </p>
                  <Button onClick={onMore}>Read {count(Math.min(READ, flow.members - some.members.length))} more</Button>
                </div>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

const VIEWS = [
  ["graph", "Graph", Workflow],
  ["table", "Table", Table2],
] as const;

/** The choice is in the URL, so that a link shows the same. */
function Views({ shown }: { readonly shown: NonNullable<FlowSearch["view"]> }): ReactElement {
  const navigate = route.useNavigate();
  return (
    <div role="group" aria-label="View" className="flex gap-1">
      {VIEWS.map(([view, label, icon]) => (
        <Button
          key={view}
          look={view === shown ? "plain" : "quiet"}
          icon={icon}
          aria-pressed={view === shown}
          onClick={() => void navigate({ search: view === "graph" ? { view } : (before) => ({ ...before, view }), replace: true })}
        >
          {label}
        </Button>
      ))}
    </div>
  );
}
