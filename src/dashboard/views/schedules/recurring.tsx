import { CalendarClock, Pause, Pencil, Play, Plus, Trash2, Zap } from "lucide-react";
import { lazy, type ReactElement, Suspense, useState } from "react";
import { asWritten, payloadOf } from "../../../core/json-text.ts";
import { act } from "../../act.ts";
import { client, type Schedule } from "../../api.ts";
import { ask } from "../../ask.ts";
import { shortId } from "../../format.ts";
import { useHeld } from "../../held.ts";
import { JobLink, PausedBadge } from "../../parts/bits.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { Menu, MenuItem, MenuLine } from "../../parts/menu.tsx";
import { Empty, Loaded } from "../../parts/notices.tsx";
import { priorityText } from "../../parts/priority.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { Ago } from "../../parts/time.tsx";
import { useJob, usePreview, useSchedules } from "../../queries.ts";
import { useIsOperator } from "../../session.ts";
import { RunTimes, TimingText } from "./timing.tsx";

const ScheduleForm = lazy(() => import("./schedule-form.tsx"));

const COLUMNS: readonly Column<Schedule>[] = [
  {
    id: "name",
    title: "Schedule",
    cell: ({ name, paused }) => (
      <span className="flex items-center gap-2">
        <span className="truncate font-medium">{name}</span>
        {paused && <PausedBadge />}
      </span>
    ),
    className: "max-w-56",
    place: "title",
    sortBy: ({ name }) => name,
  },
  { id: "when", title: "When", cell: (schedule) => <TimingText timing={schedule} />, className: "min-w-44" },
  {
    id: "makes",
    title: "Creates",
    cell: ({ type, queue }) => (
      <span className="block">
        <span className="block truncate">{type}</span>
        <span className="block text-xs text-muted-foreground">in {queue}</span>
      </span>
    ),
    className: "max-w-56",
    sortBy: ({ type }) => type,
  },
  {
    id: "next",
    title: "Next run",
    cell: ({ paused, nextRunAt }) => <Ago at={paused ? null : nextRunAt} />,
    end: true,
    sortBy: ({ paused, nextRunAt }) => (paused || nextRunAt === null ? Infinity : nextRunAt),
  },
  { id: "last", title: "Last run", cell: ({ lastRunAt, lastJobId }) => <LastRun at={lastRunAt} id={lastJobId} />, yields: 1 },
];

export function Recurring({ onNew }: { readonly onNew: () => void }): ReactElement {
  const schedules = useSchedules();
  const { shown, hold } = useHeld(schedules.data);
  const isOperator = useIsOperator();
  return (
    <div {...hold}>
      <Card flush>
        <Loaded result={{ ...schedules, data: shown }}>
          {(list) =>
            list.length === 0 ? (
              <Empty
                icon={CalendarClock}
                title="No schedules"
                action={
                  isOperator && (
                    <Button icon={Plus} onClick={onNew}>
                      New schedule
                    </Button>
                  )
                }
              >
                A schedule creates one job at each of its times (a cron expression or an interval), however many processes run.
              </Empty>
            ) : (
              <DataTable
                caption="Schedules"
                rows={list}
                columns={COLUMNS}
                keyOf={({ name }) => name}
                rowProps={({ name }) => ({ "data-schedule": name })}
                details={{ label: ({ name }) => `Details of ${name}`, body: ScheduleDetails }}
                actions={isOperator ? ScheduleActions : undefined}
              />
            )
          }
        </Loaded>
      </Card>
    </div>
  );
}

/** When it last ran, and the status of the last job, which may have been created by hand. */
function LastRun({ at, id }: { readonly at: number | null; readonly id: string | null }): ReactElement {
  const { data: job } = useJob(id);
  if (id === null) return <Ago at={at} />;
  return (
    <span className="flex flex-col items-start gap-0.5">
      {job !== undefined && job !== null && <StatusBadge status={job.status} />}
      <span className="flex items-center gap-2 text-xs text-muted-foreground">
        {job === null ? <span className="font-mono">{shortId(id)} (removed)</span> : <JobLink id={id} />}
        {at === null ? "by hand" : <Ago at={at} />}
      </span>
    </span>
  );
}

function ScheduleActions({ row: schedule }: { readonly row: Schedule }): ReactElement {
  const [isEdited, setEdited] = useState(false);
  const { name, paused } = schedule;
  const { schedules } = client;
  const resume = (): Promise<unknown> =>
    act(
      () => schedules.resume(name),
      () => `${name} is resumed`,
      { undo: () => schedules.pause(name) },
    );
  const pause = async (): Promise<void> => {
    const body = "It creates no jobs until you resume it. Its existing jobs stay.";
    const options = await ask({ title: `Pause the schedule ${name}?`, body, yes: "Pause" });
    if (options === null) return;
    await act(
      () => schedules.pause(name, options),
      () => `${name} is paused`,
      { undo: () => schedules.resume(name) },
    );
  };
  const run = (): void =>
    void act(
      () => schedules.run(name),
      (job) => (
        <>
          {name} created job <JobLink id={job.id} />
        </>
      ),
    );
  const remove = async (): Promise<void> => {
    const body = "It creates no more jobs. Its existing jobs stay.";
    const options = await ask({ title: `Delete the schedule ${name}?`, body, yes: "Delete", danger: true });
    if (options === null) return;
    await act(
      () => schedules.remove(name, options),
      () => `The schedule ${name} is deleted`,
    );
  };
  return (
    <span className="flex justify-end gap-1">
      <Button icon={Zap} onClick={run}>
        Run now
      </Button>
      {paused ? (
        <IconButton icon={Play} label={`Resume ${name}`} className="size-8" onClick={() => void resume()} />
      ) : (
        <IconButton icon={Pause} label={`Pause ${name}`} className="size-8" onClick={() => void pause()} />
      )}
      <Menu trigger={<IconButton icon={Pencil} label={`Change ${name}`} className="size-8" />}>
        <MenuItem icon={Pencil} onClick={() => setEdited(true)}>
          Edit
        </MenuItem>
        <MenuLine />
        <MenuItem icon={Trash2} danger onClick={() => void remove()}>
          Delete
        </MenuItem>
      </Menu>
      {isEdited && (
        <Suspense>
          <ScheduleForm schedule={schedule} onClose={() => setEdited(false)} />
        </Suspense>
      )}
    </span>
  );
}

const CATCH_UP = { one: "one run for the latest", skip: "skipped" } as const;
const OVERLAP = { allow: "allowed", skip: "skipped" } as const;

function ScheduleDetails({ row: schedule }: { readonly row: Schedule }): ReactElement {
  const preview = usePreview(schedule.name, 10);
  return (
    <div className="grid gap-6 rounded-lg border bg-background p-4 md:grid-cols-3">
      <section>
        <h3 className="mb-1.5 text-xs font-medium text-muted-foreground">Next runs{schedule.paused && ", after it is resumed"}</h3>
        <Loaded result={preview} lines={4}>
          {(runs) => <RunTimes runs={runs} className="space-y-0.5" />}
        </Loaded>
      </section>
      <section>
        <h3 className="mb-1.5 text-xs font-medium text-muted-foreground">Rules</h3>
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-0.5">
          <dt className="text-muted-foreground">Missed runs</dt>
          <dd>{CATCH_UP[schedule.catchUp]}</dd>
          <dt className="text-muted-foreground">Overlapping runs</dt>
          <dd>{OVERLAP[schedule.overlap]}</dd>
          <dt className="text-muted-foreground">Priority</dt>
          <dd>{priorityText(schedule.priority)}</dd>
          <dt className="text-muted-foreground">Retries</dt>
          <dd>{schedule.maxRetries}</dd>
          <dt className="text-muted-foreground">Max lost attempts</dt>
          <dd>{schedule.maxLost}</dd>
          <dt className="text-muted-foreground">Changed</dt>
          <dd>
            <Ago at={schedule.updatedAt} />
          </dd>
        </dl>
      </section>
      <section className="min-w-0">
        <h3 className="mb-1.5 text-xs font-medium text-muted-foreground">Payload</h3>
        <JsonTree value={asWritten(payloadOf(schedule))} />
      </section>
    </div>
  );
}
