/** How far a search has looked, while and after the page goes on by itself. */
import { Square } from "lucide-react";
import type { ReactElement } from "react";
import { counted } from "../../core/counted.ts";
import { isInTallies } from "../../core/filter.ts";
import { type Status, STATUSES } from "../../core/job.ts";
import { readStatusFilter } from "../../core/status-filter.ts";
import { count } from "../format.ts";
import { pageSearch } from "../page-search.ts";
import { Button } from "../parts/button.tsx";
import { useStats } from "../queries.ts";
import type { ListJobs, Stats } from "../shapes.ts";
import { useWatched } from "../use-watched.ts";

/** `status` is what the list implies. */
export function SearchProgress({ query, status }: { readonly query: ListJobs; readonly status?: Status }): ReactElement | null {
  const search = useWatched(pageSearch);
  const { data: stats } = useStats();
  if (search === null || search.key !== JSON.stringify(query)) return null;
  const total = stats === undefined ? null : totalOf(stats, status === undefined ? query : { ...query, status });
  const looked = Math.min(search.looked, total ?? Infinity);
  return (
    <span role="status" className="inline-flex flex-wrap items-center gap-2">
      {search.isOver ? "Looked" : "Looking"} through about{" "}
      {total === null ? counted(looked, "job") : `${count(looked)} of ${counted(total, "job")}`}
      {!search.isOver && (
        <Button icon={Square} onClick={search.stop}>
          Stop
        </Button>
      )}
    </span>
  );
}

/**
 * How many jobs the search can look at; null if nobody knows without a look at each. A later page looks only at the rest, and the figures have
 * no internal jobs.
 */
function totalOf({ counts, queues }: Stats, query: ListJobs): number | null {
  const { q: _, limit: __, sort: ___, ...filter } = query;
  if (!isInTallies(filter) || filter.internal === true) return null;
  const wanted = filter.queue === undefined ? counts : queues[filter.queue]?.counts;
  if (wanted === undefined) return null;
  return (readStatusFilter(filter.status) ?? STATUSES).reduce((sum, status) => sum + wanted[status], 0);
}
