/** WORKERS: which are live, what they do, which types no worker handles, and which workers ended lately. */
import { Link } from "@tanstack/react-router";
import { Cpu, OctagonAlert } from "lucide-react";
import { type ReactElement, useState } from "react";
import type { Worker } from "../api.ts";
import { type Finding, usersWorkers } from "../../core/attention.ts";
import { counted } from "../../core/counted.ts";
import { useHeld } from "../held.ts";
import { Card, PageHead } from "../parts/card.tsx";
import { InternalSwitch } from "../parts/internal-switch.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { useAttention, useFormerWorkers, useWorkers } from "../queries.ts";
import { FormerWorkers } from "./workers/former-workers.tsx";
import { SlotsOverTime } from "./workers/slots-over-time.tsx";
import { WorkerTable } from "./workers/worker-table.tsx";

export function Workers(): ReactElement {
  const workers = useWorkers();
  const [isInternal, setInternal] = useState(false);
  const { data: findings = [] } = useAttention();
  const listed = workers.data === undefined || isInternal ? workers.data : usersWorkers(workers.data);
  const { shown, hold } = useHeld(listed);
  const { data: former = [] } = useFormerWorkers(isInternal);
  const unhandled = findings.filter(({ code }) => code === "no_worker");
  return (
    <>
      <PageHead
        title="Workers"
        actions={
          <InternalSwitch
            checked={isInternal}
            onChange={setInternal}
            title="Include workers that servers run for webhooks, bulk operations and http:request"
          />
        }
      >
        {listed === undefined ? "Processes that run jobs." : summaryOf(listed)}
      </PageHead>
      <div className="space-y-4">
        {unhandled.length > 0 && <UnhandledTypes unhandled={unhandled} />}
        <div {...hold}>
          <Card flush>
            <Loaded result={{ ...workers, data: shown }}>
              {(list) =>
                list.length === 0 ? (
                  <Empty icon={Cpu} title="No worker is running">
                    Jobs wait until one does. Start one with <code className="font-mono text-xs">millrace worker --handlers ./jobs.ts</code>
                    , or with <code className="font-mono text-xs">client.work(…)</code> in a program.
                  </Empty>
                ) : (
                  <WorkerTable workers={list} />
                )
              }
            </Loaded>
          </Card>
        </div>
        <SlotsOverTime isMine={isInternal ? isAny : isUsers} />
        {former.length > 0 && <FormerWorkers workers={former} />}
      </div>
    </>
  );
}

const isAny = (): boolean => true;
const isUsers = (worker: Pick<Worker, "queues" | "types">): boolean => usersWorkers([worker]).length > 0;

function summaryOf(workers: readonly Worker[]): string {
  const sum = (figure: (worker: Worker) => number): number => workers.reduce((total, worker) => total + figure(worker), 0);
  const busy = sum((worker) => worker.runningCount);
  const slots = sum((worker) => worker.slots);
  return `${counted(workers.length, "worker")}, ${busy} of ${counted(slots, "slot")} busy, ${counted(
    sum((worker) => worker.perMinute),
    "attempt",
  )} in the last minute.`;
}

function UnhandledTypes({ unhandled }: { readonly unhandled: readonly Finding[] }): ReactElement {
  return (
    <section aria-label="Types without a live worker" className="rounded-xl border border-destructive/40 bg-card px-4 py-3">
      <h2 className="flex items-center gap-2 font-semibold">
        <OctagonAlert aria-hidden className="size-4 text-destructive" />
        Types without a live worker
      </h2>
      <p className="text-muted-foreground">Jobs of these types wait, but no worker of their queue handles them.</p>
      <ul className="mt-2 flex flex-wrap gap-2">
        {unhandled.map(({ type, queue, hint, count }) => (
          <li key={`${queue} ${type}`}>
            <Link
              to="/jobs"
              search={{ status: "pending", type: type ?? undefined, queue: queue ?? undefined }}
              title={hint}
              className="inline-block rounded-md bg-secondary px-2 py-1 break-words hover:bg-accent"
            >
              <span className="font-medium">{type ?? `and ${counted(count, "more type")}`}</span>{" "}
              {queue !== null && <span className="text-muted-foreground">in {queue}</span>}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
