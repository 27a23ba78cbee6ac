import { Link } from "@tanstack/react-router";
import { ChevronRight, CircleCheck, OctagonAlert, TriangleAlert } from "lucide-react";
import { type ReactElement, useState } from "react";
import type { Finding } from "../../../core/attention.ts";
import { counted } from "../../../core/counted.ts";
import { WEBHOOK_TYPE } from "../../../core/delivery.ts";
import type { JobSearch } from "../../job-search.ts";
import { Button } from "../../parts/button.tsx";

const SHOWN = 4;

interface AttentionProps {
  readonly findings: readonly Finding[];
  /** How many there are. */
  readonly queues: number;
  readonly workers: number;
}

type Page = "/jobs" | "/dead" | "/flows" | "/queues/$queue" | "/workers";

/** Where to see more. */
const PAGES: Readonly<Record<Finding["code"], Page>> = {
  dead_jobs: "/dead",
  dead_deliveries: "/dead",
  failed_flows: "/flows",
  no_workers: "/workers",
  no_worker: "/jobs",
  queue_full: "/queues/$queue",
  queue_nearly_full: "/queues/$queue",
  queue_behind: "/jobs",
  queue_paused: "/queues/$queue",
  worker_silent: "/workers",
  handlers_abandoned: "/workers",
};

function searchOf({ code, queue, type }: Finding): JobSearch {
  if (code === "failed_flows") return { status: "failed" };
  if (code === "dead_deliveries") return { type: WEBHOOK_TYPE, internal: "true" };
  return PAGES[code] === "/jobs" ? { status: "pending", queue: queue ?? undefined, type: type ?? undefined } : {};
}

/** How many things need attention, and which. */
export function Attention({ findings: found, queues, workers }: AttentionProps): ReactElement {
  const [isWhole, setWhole] = useState(false);
  if (found.length === 0) return <AllWell queues={queues} workers={workers} />;
  const shown = isWhole ? found : found.slice(0, SHOWN);
  return (
    <section aria-label="What needs attention" className="overflow-hidden rounded-xl border border-warning/35 bg-card">
      <h2 className="flex items-center gap-2 px-4 pt-3 pb-1.5 text-base font-semibold">
        <TriangleAlert aria-hidden className="size-4 text-warning" />
        {counted(found.length, "thing needs", "things need")} attention
      </h2>
      <ul className="pb-1.5">
        {shown.map((finding) => (
          <FindingRow key={`${finding.code} ${finding.queue} ${finding.type}`} finding={finding} />
        ))}
      </ul>
      {found.length > SHOWN && (
        <div className="border-t px-2 py-1">
          <Button look="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "Show fewer" : `Show ${found.length - SHOWN} more`}
          </Button>
        </div>
      )}
    </section>
  );
}

function FindingRow({ finding }: { readonly finding: Finding }): ReactElement {
  const { code, message, hint, severity } = finding;
  const [Icon, colour] = severity === "bad" ? [OctagonAlert, "text-destructive"] : [TriangleAlert, "text-warning"];
  return (
    <li>
      <Link
        to={PAGES[code]}
        params={{ queue: finding.queue ?? "" }}
        search={searchOf(finding)}
        className="group flex min-h-9 items-center gap-2.5 px-4 py-1.5 hover:bg-muted/60"
      >
        <Icon aria-hidden className={`size-3.5 shrink-0 ${colour}`} />
        <span className="min-w-0 flex-1 break-words">
          <span className="font-medium max-sm:block">{message}</span> <span className="text-muted-foreground sm:ml-1">{hint}</span>
        </span>
        <ChevronRight aria-hidden className="size-4 shrink-0 text-muted-foreground transition-transform group-hover:translate-x-0.5" />
      </Link>
    </li>
  );
}

function AllWell({ queues, workers }: Pick<AttentionProps, "queues" | "workers">): ReactElement {
  return (
    <section aria-label="What needs attention" className="flex items-center gap-2.5 rounded-xl border bg-card px-4 py-3">
      <CircleCheck aria-hidden className="size-5 shrink-0 text-success" />
      <p className="min-w-0">
        <strong className="font-semibold">Nothing needs attention.</strong>{" "}
        <span className="text-muted-foreground">
          {workers === 0
            ? "No worker is running, and no job needs one now."
            : `${counted(queues, "queue")} and ${counted(workers, "worker")} are fine.`}
        </span>
      </p>
    </section>
  );
}
