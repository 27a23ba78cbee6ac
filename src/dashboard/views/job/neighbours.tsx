/** The way through the list that a job was opened from: back to it, and to the jobs before and after this one. */
import { Link, useNavigate } from "@tanstack/react-router";
import { ChevronDown, ChevronLeft, ChevronUp } from "lucide-react";
import type { ReactElement } from "react";
import { LIST_PAGES, lastList } from "../../job-list/last-list.ts";
import { useShortcuts } from "../../keyboard.ts";
import { IconButton } from "../../parts/button.tsx";
import { useWatched } from "../../use-watched.ts";

/** A job that is in no list that was seen leads to all jobs. */
export function Neighbours({ id }: { readonly id: string }): ReactElement {
  const navigate = useNavigate();
  const list = useWatched(lastList);
  const at = list?.ids.indexOf(id) ?? -1;
  const { page, search, ids } = list !== null && at !== -1 ? list : { page: "/jobs" as const, search: {}, ids: [] };
  // Replaces this job in the history, so that Back leads to the list.
  const go = (to: string | undefined): void => {
    if (to !== undefined) void navigate({ to: "/jobs/$id", params: { id: to }, replace: true });
  };
  const previous = ids[at - 1];
  const next = ids[at + 1];
  useShortcuts({ "[": () => go(previous), "]": () => go(next) });
  return (
    <div className="mb-1 flex flex-wrap items-center justify-between gap-x-4">
      <Link to={page} search={search} className="inline-flex min-h-6 items-center gap-0.5 text-muted-foreground hover:text-foreground">
        <ChevronLeft aria-hidden className="size-4" /> {LIST_PAGES[page]}
      </Link>
      {at !== -1 && (
        <nav aria-label="Jobs of the list" className="flex items-center gap-1 text-xs text-muted-foreground">
          <span>
            {at + 1} of {ids.length} in the list
          </span>
          <IconButton icon={ChevronUp} label="Previous job ([)" disabled={previous === undefined} onClick={() => go(previous)} />
          <IconButton icon={ChevronDown} label="Next job (])" disabled={next === undefined} onClick={() => go(next)} />
        </nav>
      )}
    </div>
  );
}
