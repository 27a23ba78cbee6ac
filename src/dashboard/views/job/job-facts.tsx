import type { ReactElement } from "react";
import type { Job } from "../../../core/job.ts";
import { count, limit } from "../../format.ts";
import { CopyButton, FacetLink, LimitKeyLink, QueueLink, Tag } from "../../parts/bits.tsx";
import { Card } from "../../parts/card.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { Fact, TimeFact } from "../../parts/fact.tsx";
import { priorityText } from "../../parts/priority.tsx";
import { Duration } from "../../parts/time.tsx";
import { visible } from "../../safe-text.ts";

/** The fields of a job that are not shown elsewhere. */
export function JobFacts({ job }: { readonly job: Job }): ReactElement {
  return (
    <Card title="Fields" flush className="xl:sticky xl:top-17">
      <dl className="px-4 py-2">
        <Fact name="Queue">
          <QueueLink name={job.queue} />
        </Fact>
        <Fact name="Priority">{priorityText(job.priority)}</Fact>
        {job.limitKey !== null && (
          <Fact name="Limit key">
            <LimitKeyLink queue={job.queue} limitKey={job.limitKey} />
          </Fact>
        )}
        {job.coalesce !== null && <Fact name="Coalescing key">{visible(job.coalesce.key)}</Fact>}
        {job.startWithin !== null && <Fact name="Start within">{limit(job.startWithin)}</Fact>}
        {job.cost !== 1 && <Fact name="Cost">{count(job.cost)}</Fact>}
        <Fact name="Attempts">{job.attempt}</Fact>
        <Fact name="Retries">
          {job.retryCount} of {job.maxRetries} used
        </Fact>
        <Fact name="Lost">
          {job.lostCount} (at most {job.maxLost} allowed)
        </Fact>
        <Fact name="Retry delay">{limit(job.retryDelay)}</Fact>
        <Fact name="Backoff">{job.backoff}</Fact>
        <Fact name="Timeout">{limit(job.timeout)}</Fact>
        <TimeFact name="Created" at={job.createdAt} />
        <TimeFact name="Due" at={job.scheduledAt} />
        <TimeFact name="Started" at={job.startedAt} />
        <TimeFact name="Ended" at={job.completedAt} />
        <TimeFact name="Changed" at={job.updatedAt} />
        <Fact name="Duration">
          <Duration ms={job.durationMs} since={job.status === "running" ? job.startedAt : null} />
        </Fact>
        <Fact name="Worker">{job.workerId === null ? null : <span className="font-mono text-xs">{visible(job.workerId)}</span>}</Fact>
        <Fact name="Fence">{job.fence}</Fact>
        <Fact name="Idempotency key">
          {job.idempotencyKey === null ? null : (
            <span className="inline-flex max-w-full items-center gap-1 font-mono text-xs">
              <span className="min-w-0 break-all">{visible(job.idempotencyKey)}</span>
              <CopyButton text={job.idempotencyKey} what="key" />
            </span>
          )}
        </Fact>
        <Fact name="Webhook">
          {job.webhookUrl === null ? null : <span className="font-mono text-xs break-all">{visible(job.webhookUrl)}</span>}
        </Fact>
        {job.facets !== null && (
          <Fact name="Facets">
            <span className="flex flex-wrap justify-end gap-1">
              {Object.entries(job.facets).map(([field, value]) => (
                <FacetLink key={field} queue={job.queue} field={field} value={value} />
              ))}
            </span>
          </Fact>
        )}
        <Fact name="Tags">
          {job.tags.length === 0 ? null : (
            <span className="flex flex-wrap justify-end gap-1">
              {job.tags.map((tag) => (
                <Tag key={tag} name={tag} />
              ))}
            </span>
          )}
        </Fact>
      </dl>
      {job.meta !== null && (
        <div className="border-t px-4 py-3">
          <h3 className="mb-1 text-xs text-muted-foreground">Meta</h3>
          <JsonTree value={job.meta} />
        </div>
      )}
    </Card>
  );
}
