import type { ReactElement } from "react";
import { MAX_TIMED_PERIODS, MAX_TYPES_COUNTED } from "../../../core/counters.ts";
import type { TypeFigures } from "../../api.ts";
import { count, percent, took } from "../../format.ts";
import { type Range, RANGES } from "../../history/ranges.ts";
import { TypeLink } from "../../parts/bits.tsx";
import { Card } from "../../parts/card.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Loaded } from "../../parts/notices.tsx";
import { useQueueTypes } from "../../queries.ts";

/** A type of the queue. */
type TypeRow = TypeFigures & { readonly queue: string };

const OTHERS = "Other types";

const COLUMNS: readonly Column<TypeRow>[] = [
  {
    id: "type",
    title: "Type",
    cell: ({ queue, type }) => (type === null ? OTHERS : <TypeLink queue={queue} type={type} />),
    className: "font-medium",
    place: "title",
    sortBy: ({ type }) => type ?? OTHERS,
  },
  { id: "enqueued", title: "Enqueued", cell: ({ enqueued }) => count(enqueued), end: true, sortBy: ({ enqueued }) => enqueued },
  { id: "completed", title: "Completed", cell: ({ completed }) => count(completed), end: true, sortBy: ({ completed }) => completed },
  {
    id: "failed",
    title: "Failure rate",
    cell: ({ failed, completed }) => <span className={failed > 0 ? "text-dead" : ""}>{percent(failed, failed + completed)}</span>,
    end: true,
    sortBy: ({ failed, completed }) => failed / Math.max(1, failed + completed),
  },
  { id: "wait", title: "Wait p95", cell: ({ wait }) => took(wait.p95), end: true, sortBy: ({ wait }) => wait.p95 ?? -1 },
  { id: "run", title: "Run p95", cell: ({ run }) => took(run.p95), end: true, sortBy: ({ run }) => run.p95 ?? -1 },
];

/** What each type of a queue did in the chosen time, the busiest first. */
export function TypeTable({ queue, range }: { readonly queue: string; readonly range: Range }): ReactElement {
  const { step, periods } = RANGES[range];
  const result = useQueueTypes(queue, step, periods);
  return (
    <Card title={`Types in the last ${range}`} flush>
      <Loaded result={result} lines={4}>
        {(types) =>
          types.length === 0 ? (
            <p className="px-4 py-6 text-center text-muted-foreground">Nothing happened in this time.</p>
          ) : (
            <>
              <DataTable
                caption="Types"
                rows={types.map((type): TypeRow => ({ ...type, queue }))}
                columns={COLUMNS}
                keyOf={({ type }) => type ?? ""}
              />
              {periods > MAX_TIMED_PERIODS && (
                <p className="border-t px-4 py-2 text-muted-foreground">
                  Times are shown for up to 24 hours. The page of a type has them for 30 days.
                </p>
              )}
              {types.some(({ type }) => type === null) && (
                <p className="border-t px-4 py-2 text-muted-foreground">
                  {OTHERS}: beyond the first {MAX_TYPES_COUNTED} of this queue, or before Millrace counted by type.
                </p>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
