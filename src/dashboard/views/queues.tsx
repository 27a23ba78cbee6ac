/** QUEUES: how much waits where, and the switch that stops it. */
import { Layers } from "lucide-react";
import type { ReactElement } from "react";
import { useHeld } from "../held.ts";
import { Card, PageHead } from "../parts/card.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { useQueues, useStats } from "../queries.ts";
import { LevelCards } from "./queues/level-cards.tsx";
import { QueueTable } from "./queues/queue-table.tsx";

/** Every queue. */
export function Queues(): ReactElement {
  const stats = useStats();
  const queues = useQueues();
  const { shown, hold } = useHeld(queues.data);
  return (
    <>
      <PageHead title="Queues">What waits, by priority and by queue. A paused queue starts no job; those that run go on.</PageHead>
      <div className="space-y-4">
        {stats.data !== undefined && <LevelCards stats={stats.data} />}
        <div {...hold}>
          <Card flush>
            <Loaded result={{ ...queues, data: shown }}>
              {(list) =>
                list.length === 0 ? (
                  <Empty icon={Layers} title="No queue yet">
                    A queue is made by the first job that names it, or by a setting.
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
