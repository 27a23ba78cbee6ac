import { useNavigate } from "@tanstack/react-router";
import { ClipboardCopy, CopyPlus, PencilLine, Terminal } from "lucide-react";
import type { ReactElement } from "react";
import { FLOW_TYPE } from "../../../core/flow.ts";
import { isInternalType } from "../../../core/internal.ts";
import type { Job } from "../../../core/job.ts";
import { COPY_FORMATS, requestLike } from "../../copy-as.ts";
import { copyText } from "../../copy-text.ts";
import { draftOf } from "../../enqueue/draft.ts";
import { FlowLink } from "../../flows/flow-parts.tsx";
import { shortDecimal } from "../../format.ts";
import { ACTION_ICONS, ACTION_WORDS, changeJob, isValid, JOB_ACTIONS, type JobAction } from "../../job-actions.ts";
import { useShortcuts } from "../../keyboard.ts";
import { overlay } from "../../overlay.ts";
import { AuditLink, CopyButton, JobLink, Meter, QueueLink, TypeLink } from "../../parts/bits.tsx";
import { Button } from "../../parts/button.tsx";
import { Menu, MenuItem } from "../../parts/menu.tsx";
import { Priority } from "../../parts/priority.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { useSteps } from "../../queries.ts";
import { visible } from "../../safe-text.ts";
import { useIsOperator } from "../../session.ts";
import { Neighbours } from "./neighbours.tsx";

/** The job's type, id, status, progress and error, and actions. */
export function JobHead({ job }: { readonly job: Job }): ReactElement {
  const { progress } = job;
  return (
    <div className="mb-4">
      <Neighbours id={job.id} />
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <h1 className="flex flex-wrap items-center gap-2.5 text-lg font-semibold tracking-tight">
            <TypeLink queue={job.queue} type={job.type} />
            <StatusBadge status={job.status} />
          </h1>
          <p className="flex flex-wrap items-center gap-x-3 text-muted-foreground">
            <span className="inline-flex items-center gap-1 font-mono text-xs break-all">
              {job.id}
              <CopyButton text={job.id} what="id" />
            </span>
            <span>
              in <QueueLink name={job.queue} />
            </span>
            <Priority priority={job.priority} />
            {job.flow !== null && (
              <span className="inline-flex flex-wrap items-center gap-x-1">
                <span className="break-words [overflow-wrap:anywhere]">Member “{visible(job.flow.name)}” of flow</span>
                <FlowLink flow={job.flow} />
              </span>
            )}
            {job.type === FLOW_TYPE && <FlowLink flow={job}>See this flow and its members</FlowLink>}
            {job.parent !== null && (
              <span className="inline-flex flex-wrap items-center gap-x-1">
                Called by <JobLink id={job.parent.id} />
                <span className="break-words [overflow-wrap:anywhere]">in step “{visible(job.parent.step)}”</span>
              </span>
            )}
          </p>
        </div>
        <Actions job={job} />
      </div>
      {progress !== null && job.status === "running" && (
        <div className="mt-3 rounded-xl border bg-card px-4 py-3">
          <p className="mb-1.5 flex justify-between gap-4">
            <span className="min-w-0 truncate text-muted-foreground">{visible(progress.note ?? "working")}</span>
            <strong className="font-medium">{shortDecimal(progress.percent)} %</strong>
          </p>
          <Meter value={progress.percent} of={100} label="progress" />
        </div>
      )}
      {job.error !== null && job.status !== "completed" && <ErrorNote error={job.error} />}
    </div>
  );
}

function ErrorNote({ error }: { readonly error: NonNullable<Job["error"]> }): ReactElement {
  return (
    <div className="mt-3 rounded-xl border border-destructive/35 bg-card bg-linear-to-r from-destructive/10 to-destructive/4 px-4 py-3">
      <p className="font-medium text-dead">
        {visible(error.name)}
        {error.kind !== "error" && <span className="ml-2 font-normal text-muted-foreground">({error.kind})</span>}
      </p>
      <p className="max-h-40 overflow-y-auto break-words whitespace-pre-wrap" tabIndex={0} role="note" aria-label="Error message">
        {visible(error.message)}
      </p>
    </div>
  );
}

function Actions({ job }: { readonly job: Job }): ReactElement {
  const navigate = useNavigate();
  const isOperator = useIsOperator();
  const change = async (action: JobAction): Promise<void> => {
    if ((await changeJob(action, job)) && action === "delete") void navigate({ to: "/jobs" });
  };
  const { data: steps } = useSteps(job);
  // A handler that sleeps would go back to sleep.
  const sleeps = job.status === "scheduled" && job.hasSteps && steps?.every(({ state }) => state !== "open") !== true;
  // A whole flow is retried and cancelled on its own page.
  const isFlow = job.type === FLOW_TYPE;
  const valid = JOB_ACTIONS.filter(
    (action) => isValid(action, job.status) && !(action === "start" && sleeps) && !(isFlow && action !== "delete"),
  );
  const changeIfValid = (...actions: JobAction[]): void => {
    const action = actions.find((each) => valid.includes(each));
    if (action !== undefined && isOperator) void change(action);
  };
  const duplicate = (): void => overlay.set({ kind: "enqueue", draft: draftOf(job) });
  useShortcuts({
    r: () => changeIfValid("retry", "start"),
    c: () => changeIfValid("cancel"),
    d: () => {
      if (isOperator) duplicate();
    },
    y: () => void copyText(job.id, "Id"),
    Delete: () => changeIfValid("delete"),
  });
  return (
    <div className="flex flex-wrap gap-2">
      {isOperator && (
        <>
          {valid.map((action) => (
            <Button
              key={action}
              icon={ACTION_ICONS[action]}
              look={action === "retry" || action === "start" ? "primary" : "plain"}
              onClick={() => void change(action)}
            >
              {ACTION_WORDS[action]}
            </Button>
          ))}
          {isValid("retry", job.status) && !isInternalType(job.type) && (
            <Button icon={PencilLine} onClick={() => overlay.set({ kind: "edit", job })}>
              Edit and retry
            </Button>
          )}
          <Button icon={CopyPlus} onClick={duplicate}>
            Duplicate and edit
          </Button>
        </>
      )}
      <CopyAs job={job} />
      <AuditLink of={{ jobId: job.id }} />
    </div>
  );
}

function CopyAs({ job }: { readonly job: Job }): ReactElement {
  return (
    <Menu trigger={<Button icon={ClipboardCopy}>Copy as</Button>}>
      {COPY_FORMATS.map(([name, write]) => (
        <MenuItem key={name} icon={Terminal} onClick={() => void copyText(write(requestLike(job)), name)}>
          {name}
        </MenuItem>
      ))}
    </Menu>
  );
}
