/** HOW TO COUNT FAILURES BY CUSTOMER, for queues that declare no facet. */
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactElement } from "react";
import { isInternalQueue } from "../../core/internal.ts";
import type { JobSummary } from "../../core/job.ts";
import { SETTINGS_ID } from "../places.ts";

/** It is one line: of many queues, those of the first jobs. */
const MAX_QUEUES = 3;

/** A line that leads to the settings of the queues of these jobs; nothing without jobs. */
export function DeclareFacets({ jobs }: { readonly jobs: readonly JobSummary[] }): ReactElement | null {
  const queues = [...new Set(jobs.map(({ queue }) => queue))].filter((queue) => !isInternalQueue(queue)).slice(0, MAX_QUEUES);
  if (queues.length === 0) return null;
  return (
    <p className="mb-4 text-xs text-muted-foreground">
      To see failures by customer, declare that field of the payload as a facet in the settings of{" "}
      {queues.map((queue, index) => (
        <Fragment key={queue}>
          {index > 0 && (index === queues.length - 1 ? " or " : ", ")}
          <Link
            to="/queues/$queue"
            params={{ queue }}
            hash={SETTINGS_ID}
            className="rounded py-1.25 break-all text-primary underline underline-offset-2"
          >
            {queue}
          </Link>
        </Fragment>
      ))}
      .
    </p>
  );
}
