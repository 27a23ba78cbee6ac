/** QUEUES: their waiting jobs and settings, and buttons to pause them. */
import { Layers } from "lucide-react";
import { type ReactElement, useState } from "react";
import { useHeld } from "../held.ts";
import { Card, PageHead } from "../parts/card.tsx";
import { InternalSwitch } from "../parts/internal-switch.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { useQueues, useStats } from "../queries.ts";
import { LevelCards } from "./queues/level-cards.tsx";
import { QueueTable } from "./queues/queue-table.tsx";

export function Queues(): ReactElement {
  const stats = useStats();
  const [isInternal, setInternal] = useState(false);
  const queues = useQueues(isInternal);
  const { shown, hold } = useHeld(queues.data);
  return (
    <>
      <PageHead
        title="Queues"
        actions={
          <InternalSwitch
            checked={isInternal}
            onChange={setInternal}
            title="Include the queues of webhook deliveries and bulk operations"
          />
        }
      >
        Waiting jobs by priority and by queue. A paused queue starts no jobs; running jobs continue.
      </PageHead>
      <div className="space-y-4">
        {stats.data !== undefined && <LevelCards stats={stats.data} />}
        <div {...hold}>
          <Card flush>
            <Loaded result={{ ...queues, data: shown }}>
              {(list) =>
                list.length === 0 ? (
                  <Empty icon={Layers} title="No queues yet">
                    A queue is created by its first job, or by a change of its settings.
                  </Empty>
                ) : (
                  <QueueTable queues={list} />
                )
              }
            </Loaded>
          </Card>
        </div>
      </div>
    </>
  );
}
