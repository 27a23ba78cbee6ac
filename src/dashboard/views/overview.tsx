/** THE OVERVIEW: you see within five seconds whether anything is wrong. */
import type { ReactElement } from "react";
import { usersWorkers } from "../../core/attention.ts";
import { PageHead } from "../parts/card.tsx";
import { Loaded, Skeleton } from "../parts/notices.tsx";
import { useAttention, useQueues, useStats, useWorkers } from "../queries.ts";
import { Attention } from "./overview/attention.tsx";
import { FigureCards } from "./overview/figure-cards.tsx";
import { FirstSteps } from "./overview/first-steps.tsx";
import { LatestJobs } from "./overview/latest-jobs.tsx";
import { QueueBars } from "./overview/queue-bars.tsx";
import { Throughput } from "./overview/throughput.tsx";

export function Overview(): ReactElement {
  const stats = useStats();
  const queues = useQueues();
  const workers = useWorkers();
  const attention = useAttention();
  const users = usersWorkers(workers.data ?? []);
  return (
    <>
      <PageHead title="Overview" />
      <Loaded result={stats}>
        {(figures) =>
          figures.totalEnqueued === 0 ? (
            <FirstSteps />
          ) : (
            <div className="space-y-4">
              {queues.data === undefined || workers.data === undefined || attention.data === undefined ? (
                <Skeleton lines={2} />
              ) : (
                <Attention findings={attention.data} queues={queues.data.length} workers={users.length} />
              )}
              <FigureCards stats={figures} workers={users} queues={queues.data ?? []} />
              <div className="grid gap-4 xl:grid-cols-5">
                <div className="min-w-0 xl:col-span-3">
                  <Throughput />
                </div>
                <div className="min-w-0 xl:col-span-2">
                  <QueueBars stats={figures} />
                </div>
              </div>
              <LatestJobs />
            </div>
          )
        }
      </Loaded>
    </>
  );
}
