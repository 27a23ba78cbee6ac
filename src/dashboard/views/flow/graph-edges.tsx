import { type ReactElement, useMemo } from "react";
import { isTerminal, type Status } from "../../../core/job.ts";
import type { FlowMember } from "../../api.ts";
import type { Layout, PlacedEdge } from "../../flows/graph-layout.ts";

interface EdgesProps {
  readonly layout: Layout;
  readonly members: readonly FlowMember[];
  readonly path: ReadonlySet<string>;
  readonly active: string | null;
}

/** The edges: coloured once their member has ended, and thick along the critical path. Screen readers hear the same in the details of a box. */
export function Edges({ layout, members, path, active }: EdgesProps): ReactElement {
  const statuses = useMemo(() => new Map(members.map(({ name, status }) => [name, status])), [members]);
  const isActive = ({ from, to }: PlacedEdge): boolean => from === active || to === active;
  // Those of the active box are drawn last, above all others.
  const ordered = layout.edges.toSorted((one, other) => Number(isActive(one)) - Number(isActive(other)));
  return (
    <svg aria-hidden width={layout.width} height={layout.height} className="absolute top-0 left-0">
      {ordered.map((edge) => {
        const isThick = isActive(edge) || (path.has(edge.from) && path.has(edge.to));
        return (
          <g key={JSON.stringify([edge.from, edge.to])} className={isActive(edge) ? "text-primary" : colourOf(statuses.get(edge.from))}>
            <path d={edge.line} fill="none" stroke="currentColor" strokeWidth={isThick ? 2.25 : 1.25} />
            <path d={edge.tip} fill="currentColor" />
          </g>
        );
      })}
    </svg>
  );
}

function colourOf(status: Status | undefined): string {
  if (status === "completed") return "text-completed";
  return status !== undefined && isTerminal(status) ? "text-dead" : "text-muted-foreground/70";
}
