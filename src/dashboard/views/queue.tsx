/** ONE QUEUE: how it does over time, what waits in it, who works on it, its settings and its errors. */
import { getRouteApi, Link, useLocation } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { type ReactElement, useCallback, useState } from "react";
import { usersWorkers } from "../../core/attention.ts";
import { servesQueue } from "../../core/explain.ts";
import type { QueueDetails, Worker } from "../api.ts";
import type { Range } from "../history/ranges.ts";
import { AuditLink, LimitedBadge, PausedBadge } from "../parts/bits.tsx";
import { limitsInWords } from "../limit-words.ts";
import { SETTINGS_ID } from "../places.ts";
import { useAttention, useQueue } from "../queries.ts";
import { useIsOperator } from "../session.ts";
import { useTitle } from "../title.ts";
import { ErrorGroups } from "./dead/error-groups.tsx";
import { Attention } from "./overview/attention.tsx";
import { Limits, LIMITS_ID } from "./queue/limits.tsx";
import { OverTime } from "./queue/over-time.tsx";
import { QueueFacts } from "./queue/queue-facts.tsx";
import { QueueOrNone } from "./queue/queue-or-none.tsx";
import { StatusCards } from "./queue/status-cards.tsx";
import { TypeTable } from "./queue/type-table.tsx";
import { WaitingTypes } from "./queue/waiting-types.tsx";
import { WorkersOf } from "./queue/workers-of.tsx";
import { QueueActions } from "./queues/queue-table.tsx";
import { SlotsOverTime } from "./workers/slots-over-time.tsx";

const route = getRouteApi("/queues/$queue");

export function QueuePage(): ReactElement {
  const { queue: name } = route.useParams();
  useTitle(name);
  const result = useQueue(name);
  return <QueueOrNone result={result}>{(queue) => <QueueView key={queue.name} queue={queue} />}</QueueOrNone>;
}

function QueueView({ queue }: { readonly queue: QueueDetails }): ReactElement {
  const isOperator = useIsOperator();
  const { hash } = useLocation();
  const [range, setRange] = useState<Range>("24 h");
  const { data: findings = [] } = useAttention();
  const mine = findings.filter((finding) => finding.queue === queue.name);
  const isMine = useCallback(
    (worker: Pick<Worker, "queues" | "types">) => usersWorkers([worker]).length > 0 && servesQueue(worker, queue.name),
    [queue.name],
  );
  return (
    <>
      <Link to="/queues" className="mb-1 inline-flex min-h-6 items-center gap-0.5 text-muted-foreground hover:text-foreground">
        <ChevronLeft aria-hidden className="size-4" /> Queues
      </Link>
      <div className="mb-4 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="flex min-w-0 flex-wrap items-center gap-2.5">
          <h1 className="flex min-w-0 flex-wrap items-center gap-2.5 text-lg font-semibold tracking-tight">
            <span className="break-all">{queue.name}</span>
            {queue.paused && <PausedBadge />}
          </h1>
          {queue.limits !== null && (
            <Link
              to="/queues/$queue"
              params={{ queue: queue.name }}
              hash={LIMITS_ID}
              className="inline-flex min-h-6 items-center rounded-full"
            >
              <LimitedBadge words={limitsInWords(queue.limits)} />
            </Link>
          )}
        </div>
        <div className="flex items-center gap-1">
          <AuditLink of={{ queue: queue.name }} />
          {isOperator && <QueueActions row={queue} startsOpen={hash === SETTINGS_ID} />}
        </div>
      </div>
      <div className="space-y-4">
        {mine.length > 0 && <Attention findings={mine} queues={1} workers={0} />}
        <StatusCards queue={queue} />
        <OverTime queue={queue.name} range={range} onRange={setRange} />
        <Limits queue={queue} />
        <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_22rem]">
          <div className="space-y-4">
            <TypeTable queue={queue.name} range={range} />
            <WaitingTypes queue={queue} />
          </div>
          <QueueFacts queue={queue} />
        </div>
        <WorkersOf isMine={isMine} none="No live worker serves this queue." />
        <SlotsOverTime isMine={isMine} />
        <ErrorGroups filter={{ queue: queue.name }} search={{ queue: queue.name }} />
      </div>
    </>
  );
}
