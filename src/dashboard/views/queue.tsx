/** ONE QUEUE: how it does over time, what waits in it, who works on it, its settings and its errors. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { ChevronLeft, Layers } from "lucide-react";
import { type ReactElement, useState } from "react";
import { usersWorkers } from "../../core/attention.ts";
import { servesQueue } from "../../core/explain.ts";
import type { QueueDetails } from "../api.ts";
import { took } from "../format.ts";
import { FAILURE_FIGURES, JOB_FIGURES, timeFigures } from "../history/job-figures.ts";
import { HistoryCard } from "../history/history-card.tsx";
import { RangeChoice } from "../history/range-choice.tsx";
import { JOBS_PER, type Range, RANGES } from "../history/ranges.ts";
import { PausedBadge } from "../parts/bits.tsx";
import { Card } from "../parts/card.tsx";
import { Empty, Loaded, messageOf } from "../parts/notices.tsx";
import { useAttention, useHistory, useQueue, useWorkers } from "../queries.ts";
import { useIsOperator } from "../session.ts";
import { useTitle } from "../title.ts";
import { ErrorGroups } from "./dead/error-groups.tsx";
import { Attention } from "./overview/attention.tsx";
import { QueueFacts } from "./queue/queue-facts.tsx";
import { StatusCards } from "./queue/status-cards.tsx";
import { WaitingTypes } from "./queue/waiting-types.tsx";
import { QueueActions } from "./queues/queue-table.tsx";
import { WorkerTable } from "./workers/worker-table.tsx";

const route = getRouteApi("/queues/$queue");

export function QueuePage(): ReactElement {
  const { queue: name } = route.useParams();
  useTitle(name);
  const result = useQueue(name);
  if (result.error !== null && result.data === undefined && "field" in result.error && result.error.field === "queue") {
    return <NoQueue text={messageOf(result.error)} />;
  }
  return (
    <Loaded result={result} lines={10}>
      {(queue) =>
        queue === null ? (
          <NoQueue text="A queue is created by its first job, or by a change of its settings." />
        ) : (
          <QueueView key={queue.name} queue={queue} />
        )
      }
    </Loaded>
  );
}

function NoQueue({ text }: { readonly text: string }): ReactElement {
  return (
    <Card>
      <Empty icon={Layers} title="There is no such queue">
        {text}
      </Empty>
    </Card>
  );
}

function QueueView({ queue }: { readonly queue: QueueDetails }): ReactElement {
  const isOperator = useIsOperator();
  const { data: findings = [] } = useAttention();
  const mine = findings.filter((finding) => finding.queue === queue.name);
  return (
    <>
      <Link to="/queues" className="mb-1 inline-flex min-h-6 items-center gap-0.5 text-muted-foreground hover:text-foreground">
        <ChevronLeft aria-hidden className="size-4" /> Queues
      </Link>
      <div className="mb-4 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <h1 className="flex min-w-0 flex-wrap items-center gap-2.5 text-lg font-semibold tracking-tight">
          <span className="break-all">{queue.name}</span>
          {queue.paused && <PausedBadge />}
        </h1>
        {isOperator && <QueueActions row={queue} />}
      </div>
      <div className="space-y-4">
        {mine.length > 0 && <Attention findings={mine} queues={1} workers={0} />}
        <StatusCards queue={queue} />
        <Charts queue={queue.name} />
        <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_22rem]">
          <WaitingTypes queue={queue} />
          <QueueFacts queue={queue} />
        </div>
        <Workers queue={queue.name} />
        <ErrorGroups filter={{ queue: queue.name }} search={{ queue: queue.name }} />
      </div>
    </>
  );
}

const RUN_TIMES = timeFigures("run");
const WAIT_TIMES = timeFigures("wait");

function Charts({ queue }: { readonly queue: string }): ReactElement {
  const [range, setRange] = useState<Range>("24 h");
  const { step, periods } = RANGES[range];
  const history = useHistory(step, periods, queue);
  return (
    <section aria-label="Over time" className="space-y-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-base font-semibold">Over time</h2>
        <RangeChoice range={range} onChange={setRange} />
      </div>
      <div className="grid gap-4 xl:grid-cols-2">
        <HistoryCard title={JOBS_PER[step]} caption="Jobs over time, the latest first" figures={JOB_FIGURES} result={history} />
        <HistoryCard
          title="Failure rate"
          caption="Failure rate over time, the latest first"
          figures={FAILURE_FIGURES}
          result={history}
          valueText={percentText}
        />
        <HistoryCard
          title="Wait time"
          caption="Wait time over time, the latest first"
          figures={WAIT_TIMES}
          result={history}
          valueText={took}
        />
        <HistoryCard
          title="Run time"
          caption="Run time over time, the latest first"
          figures={RUN_TIMES}
          result={history}
          valueText={took}
        />
      </div>
    </section>
  );
}

function percentText(value: number): string {
  return `${Number(value.toFixed(1))} %`;
}

function Workers({ queue }: { readonly queue: string }): ReactElement {
  const workers = useWorkers();
  return (
    <Card title="Workers" flush>
      <Loaded result={workers} lines={3}>
        {(all) => {
          const mine = usersWorkers(all).filter((worker) => servesQueue(worker, queue));
          if (mine.length > 0) return <WorkerTable workers={mine} />;
          return <p className="px-4 py-6 text-center text-muted-foreground">No live worker serves this queue.</p>;
        }}
      </Loaded>
    </Card>
  );
}
