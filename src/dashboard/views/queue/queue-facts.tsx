import type { ReactElement, ReactNode } from "react";
import { defaultsInWords } from "../../../core/attempt-options.ts";
import { formatDuration } from "../../../core/duration.ts";
import type { Queue } from "../../api.ts";
import { count, NOTHING, roughSpan } from "../../format.ts";
import { Card } from "../../parts/card.tsx";
import { Capacity, LevelBar, Rate } from "../queues/queue-table.tsx";

/** What waits, the use of the capacity, and the settings. */
export function QueueFacts({ queue }: { readonly queue: Queue }): ReactElement {
  const { rate, oldestWaitingMs, headStart, deadLetters, facets, retention } = queue;
  return (
    <Card title="Use and settings" flush>
      <dl className="px-4 py-2">
        <Fact name="Waiting by priority">
          <LevelBar queue={queue} />
        </Fact>
        <Fact name="Oldest waiting">{oldestWaitingMs === null ? NOTHING : roughSpan(oldestWaitingMs)}</Fact>
        <Fact name="Per minute">
          <Rate rate={rate} />
        </Fact>
        <Fact name="Capacity">
          <Capacity queue={queue} />
        </Fact>
        <Fact name="Priority">{headStart === null ? "strict" : `head start of ${formatDuration(headStart)}`}</Fact>
        <Fact name="Dead letters">{deadLetters ? "kept" : "off: jobs end as failed"}</Fact>
        <Fact name="Facets">{facets.length === 0 ? NOTHING : facets.map(({ field }) => field).join(", ")}</Fact>
        <Fact name="Defaults for jobs">{defaultsInWords(queue.defaults) || NOTHING}</Fact>
        <Fact name="Keep ended jobs for">{formatDuration(retention.age)}</Fact>
        <Fact name="Keep at most">{count(retention.count)}</Fact>
        <Fact name="Keep each for at least">{formatDuration(retention.keepAtLeast)}</Fact>
      </dl>
    </Card>
  );
}

/** A named value in a list of them. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement {
  return (
    <div className="flex min-h-8 items-center justify-between gap-4 border-b py-1 last:border-b-0">
      <dt className="shrink-0 text-muted-foreground">{name}</dt>
      <dd className="min-w-24 text-right">{children}</dd>
    </div>
  );
}
