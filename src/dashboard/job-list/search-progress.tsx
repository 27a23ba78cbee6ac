/** How far a search has looked, while and after the page goes on by itself. */
import { Square } from "lucide-react";
import type { ReactElement } from "react";
import { counted } from "../../core/counted.ts";
import { type Status, STATUSES } from "../../core/job.ts";
import { count } from "../format.ts";
import { pageSearch } from "../page-search.ts";
import { Button } from "../parts/button.tsx";
import { useStats } from "../queries.ts";
import type { ListJobs } from "../shapes.ts";
import { useWatched } from "../watched.ts";

/** `status` is what the list implies. */
export function SearchProgress({ query, status }: { readonly query: ListJobs; readonly status?: Status }): ReactElement | null {
  const search = useWatched(pageSearch);
  const { data: stats } = useStats();
  if (search === null || search.key !== JSON.stringify(query)) return null;
  const named = status ?? query.status;
  const wanted: readonly Status[] = named === undefined ? STATUSES : STATUSES.filter((each) => [named].flat().includes(each));
  const total = stats === undefined ? 0 : wanted.reduce((sum, each) => sum + stats.counts[each], 0);
  const looked = total === 0 ? search.looked : Math.min(search.looked, total);
  return (
    <span role="status" className="inline-flex flex-wrap items-center gap-2">
      {search.isOver ? "Looked" : "Looking"} through {count(looked)} of {counted(Math.max(total, looked), "job")}
      {!search.isOver && (
        <Button icon={Square} onClick={search.stop}>
          Stop
        </Button>
      )}
    </span>
  );
}
