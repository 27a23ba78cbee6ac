/** FAILURES BY FACET: which customer's jobs fail. Each value is a filter of the page. */
import { Link } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { counted } from "../../core/counted.ts";
import type { JobSummary } from "../../core/job.ts";
import type { FacetCounts, JobFilter } from "../api.ts";
import { count } from "../format.ts";
import { useHeld } from "../held.ts";
import type { JobSearch } from "../job-search.ts";
import { Meter } from "../parts/bits.tsx";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { Moment } from "../parts/time.tsx";
import { useFacetCounts, useQueues } from "../queries.ts";
import { visible } from "../safe-text.ts";
import { serverNow } from "../server-time.ts";
import { changeWhere, readWhere } from "../where-text.ts";
import { DeclareFacets } from "./declare-facets.tsx";

/** Each is a request of its own. */
const MAX_FIELDS = 4;
const SHOWN = 8;

interface FacetsProps {
  /** Of dead or failed jobs. */
  readonly filter: JobFilter;
  readonly search: JobSearch;
}

/** A card for each field that a wanted queue declares. If none does, what to do about it, for the jobs that are shown. */
export function Facets({ filter, search, jobs }: FacetsProps & { readonly jobs: readonly JobSummary[] }): ReactElement | null {
  const { data: queues } = useQueues();
  if (queues === undefined) return null;
  const declared = queues.filter(({ name }) => search.queue === undefined || search.queue === name).flatMap(({ facets }) => facets);
  const fields = [...new Set(declared.map(({ field }) => field))];
  if (fields.length === 0) return <DeclareFacets jobs={jobs} />;
  const latest = (field: string): number => Math.max(...declared.filter((each) => each.field === field).map(({ since }) => since));
  return (
    <div className="mb-4 grid gap-4 md:grid-cols-2">
      {fields.slice(0, MAX_FIELDS).map((field) => (
        <Facet key={field} field={field} since={latest(field)} filter={filter} search={search} />
      ))}
      {fields.length > MAX_FIELDS && (
        <p className="text-xs text-muted-foreground md:col-span-2">
          {counted(fields.length - MAX_FIELDS, "more facet")}. Choose a queue to see all of its facets.
        </p>
      )}
    </div>
  );
}

function Facet({ field, since, filter, search }: FacetsProps & { readonly field: string; readonly since: number }): ReactElement {
  const { data } = useFacetCounts(field, filter);
  const { shown, hold } = useHeld(data);
  const [isWhole, setWhole] = useState(false);
  const chosen = search.where === undefined ? undefined : readWhere(search.where)?.[field];
  const most = shown?.values[0]?.count ?? 0;
  const { cursor: _, where: __, ...others } = search;
  return (
    <div {...hold} className="min-w-0">
      <Card title={`Failures by ${visible(field)}`} flush>
        <ul aria-label={`Failures by ${field}`} className="divide-y">
          {shown?.values.slice(0, isWhole ? undefined : SHOWN).map(({ value, count: jobs }) => {
            const isChosen = value === chosen;
            return (
              <li key={value} className={`flex min-h-9 items-center gap-3 px-4 py-1 ${isChosen ? "bg-primary/8" : ""}`}>
                <Link
                  to="."
                  search={{ ...others, where: changeWhere(search.where, field, isChosen ? undefined : value) }}
                  aria-current={isChosen ? "true" : undefined}
                  activeProps={{}}
                  title={isChosen ? `Show every ${field} again` : `Show only ${value}`}
                  className="inline-flex min-h-6 min-w-0 flex-1 items-center rounded underline-offset-2 hover:underline"
                >
                  <span className="truncate">{visible(value)}</span>
                </Link>
                <span className="w-24 shrink-0 max-sm:w-12">
                  <Meter value={jobs} of={most} label={`${value}: ${count(jobs)} of ${count(most)}`} />
                </span>
                <span className="w-20 shrink-0 text-right max-sm:w-14">
                  {shown.isCapped && <span className="text-2xs text-muted-foreground">at least </span>}
                  {count(jobs)}
                </span>
              </li>
            );
          })}
        </ul>
        {shown !== undefined && shown.values.length > SHOWN && (
          <div className="border-t px-2 py-1">
            <Button look="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
              {isWhole ? "Show fewer" : `Show ${shown.hasMore ? "the largest" : "all"} ${count(shown.values.length)} values`}
            </Button>
          </div>
        )}
        <p className="border-t px-4 py-2 text-xs text-muted-foreground">
          {shown === undefined ? "Counting…" : restOf(shown, field)} Jobs that are dead or failed now: retried ones do not count.{" "}
          {since > serverNow() ? "Complete from " : "Indexed since "}
          <Moment at={since} />.
        </p>
      </Card>
    </div>
  );
}

function restOf({ values, without, hasMore }: FacetCounts, field: string): string {
  const none = values.length === 0 ? "No failed job has this field. " : "";
  const more = hasMore ? "There are more values. " : "";
  return `${none}${more}${without > 0 ? `${count(without)} without ${field}.` : ""}`.trim();
}
