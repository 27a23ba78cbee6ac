/** Small parts of the pages of flows. */
import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import type { Flow } from "../api.ts";
import { NOTHING, shortId } from "../format.ts";
import { Duration } from "../parts/time.tsx";
import { visible } from "../safe-text.ts";
import { progressWords } from "./flow-words.ts";

interface FlowLinkProps {
  readonly flow: Pick<Flow, "id"> & Partial<Pick<Flow, "key">>;
  readonly children?: ReactNode;
  /** Marks the link that opens the flow of a row. */
  readonly opensRow?: boolean;
}

/** The key of a flow, or the end of its id, as a link to the flow. */
export function FlowLink({ flow: { id, key = null }, children, opensRow = false }: FlowLinkProps): ReactElement {
  return (
    <Link
      to="/flows/$id"
      params={{ id }}
      title={key === null ? id : visible(key)}
      data-open={opensRow ? "" : undefined}
      className={`inline-flex min-h-6 max-w-full items-center rounded text-primary underline-offset-2 hover:underline ${key === null && children === undefined ? "font-mono text-xs" : ""}`}
    >
      {children ?? (key === null ? shortId(id) : <span className="truncate">{visible(key)}</span>)}
    </Link>
  );
}

interface OfFlow {
  readonly flow: Flow;
}

/** How long it took, or has taken so far. */
export function FlowTime({ flow: { createdAt, endedAt } }: OfFlow): ReactElement {
  return endedAt === null ? <Duration ms={null} since={createdAt} /> : <Duration ms={Math.max(0, endedAt - createdAt)} />;
}

/** The tags of a flow. Its jobs need not have them, so they are no links to jobs. */
export function FlowTags({ tags }: { readonly tags: readonly string[] }): ReactElement {
  if (tags.length === 0) return <span className="text-muted-foreground">{NOTHING}</span>;
  return (
    <span className="flex flex-wrap gap-1">
      {tags.map((tag) => (
        <span key={tag} title={tag} className="max-w-40 truncate rounded bg-secondary px-1.5 text-xs leading-5 text-muted-foreground">
          {visible(tag)}
        </span>
      ))}
    </span>
  );
}

const PARTS = [
  ["completed", "bg-completed"],
  ["failed", "bg-dead"],
  ["cancelled", "bg-cancelled"],
] as const;

/** How many members ended, and how: in words, and as a bar. `isShort`: the page says elsewhere what it waits for. */
export function FlowProgress({ flow, isShort = false }: OfFlow & { readonly isShort?: boolean }): ReactElement {
  const { members, open, stuck } = flow;
  return (
    <span className="block space-y-1 py-1">
      <span className="block text-xs">{progressWords(flow)}</span>
      <span
        role="meter"
        aria-label="members that ended"
        aria-valuemin={0}
        aria-valuemax={members}
        aria-valuenow={members - open}
        className="flex h-1.5 w-full gap-px overflow-hidden rounded-full bg-secondary"
      >
        {PARTS.filter(([name]) => flow[name] > 0).map(([name, colour]) => (
          <span key={name} className={colour} style={{ width: `${(flow[name] / Math.max(1, members)) * 100}%` }} />
        ))}
      </span>
      {stuck.count > 0 && !isShort && (
        <span className="flex items-center gap-1 text-xs text-warning">
          <TriangleAlert aria-hidden className="size-3" /> waits for a retry
        </span>
      )}
    </span>
  );
}
