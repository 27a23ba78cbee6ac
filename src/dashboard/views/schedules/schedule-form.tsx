/** Creates or edits a schedule, and shows its next runs. */
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useDeferredValue, useState } from "react";
import { type Issue, MillraceError } from "../../../core/errors.ts";
import { act } from "../../act.ts";
import { client, type Schedule } from "../../api.ts";
import { issuesOf } from "../../enqueue/draft.ts";
import { PayloadField, usePublishedSchema } from "../../enqueue/payload-field.tsx";
import { useKnownQueues, useKnownTypes } from "../../known-names.ts";
import { SelectField, TextField } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { messageOf } from "../../parts/notices.tsx";
import { LEVELS } from "../../parts/priority.tsx";
import { Suggest } from "../../parts/suggest.tsx";
import { useReason } from "../../parts/use-reason.tsx";
import { formOf, readForm, type ScheduleDraft, timingOf, type TimingDraft } from "./schedule-draft.ts";
import { cronWords, RunTimes } from "./timing.tsx";

const ZONES: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];
const PREVIEWED = 5;

interface ScheduleFormProps {
  /** Null creates a new one. */
  readonly schedule: Schedule | null;
  readonly onClose: () => void;
}

export default function ScheduleForm({ schedule, onClose }: ScheduleFormProps): ReactElement {
  const [draft, setDraft] = useState(() => formOf(schedule));
  const [problems, setProblems] = useState<Partial<Record<keyof ScheduleDraft, string>>>({});
  const [issues, setIssues] = useState<readonly Issue[]>([]);
  const reason = useReason();
  const [problem, setProblem] = useState<string>();
  // The name for which the server said that a schedule has it.
  const [taken, setTaken] = useState<string>();
  const isReplacement = taken !== undefined && taken === draft.name.trim();
  const set = (change: Partial<ScheduleDraft>): void => setDraft((written) => ({ ...written, ...change }));
  const submit = async (): Promise<void> => {
    const read = readForm(draft, schedule);
    if (!read.ok) return setProblems(read.problems);
    setProblems({});
    setIssues([]);
    setProblem(undefined);
    const isNew = schedule === null && !isReplacement;
    const refuse = (error: unknown): void => {
      setIssues(issuesOf(error));
      if (error instanceof MillraceError && error.field?.startsWith("payload") === true) return setProblems({ payload: messageOf(error) });
      const isTaken = error instanceof MillraceError && error.code === "schedule_exists";
      if (isTaken) setTaken(read.schedule.name);
      setProblem(isTaken ? `A schedule named ${read.schedule.name} exists. Replace it, or choose another name.` : messageOf(error));
    };
    const done = await act(
      () => (isNew ? client.schedules.create(read.schedule, reason.options) : client.schedules.upsert(read.schedule, reason.options)),
      ({ name }) => `The schedule ${name} is ${isReplacement ? "replaced" : "saved"}`,
      { onFailure: refuse },
    );
    if (done !== undefined) onClose();
  };
  return (
    <FormDialog
      title={schedule === null ? "New schedule" : `Edit ${schedule.name}`}
      onClose={onClose}
      wide
      problem={problem}
      submit={schedule !== null ? "Save" : isReplacement ? "Replace" : "Create"}
      danger={isReplacement}
      onSubmit={submit}
      columns
    >
      <TextField
        label="Name"
        first={schedule === null}
        readOnly={schedule !== null}
        value={draft.name}
        onChange={(name) => set({ name })}
        problem={problems.name}
        hint={schedule === null ? undefined : "The name cannot be changed."}
      />
      <TypeField draft={draft} set={set} problem={problems.type} />
      <TimingFields draft={draft} set={set} />
      <Preview timing={draft} />
      <div className="sm:col-span-2">
        <PayloadOf draft={draft} set={set} problem={problems.payload} issues={issues} />
      </div>
      <OtherFields draft={draft} set={set} />
      <div className="sm:col-span-2">{reason.field}</div>
    </FormDialog>
  );
}

interface PartProps {
  readonly draft: ScheduleDraft;
  readonly set: (change: Partial<ScheduleDraft>) => void;
}

function TypeField({ draft, set, problem }: PartProps & { readonly problem: string | undefined }): ReactElement {
  const types = useKnownTypes();
  return <Suggest label="Job type" value={draft.type} onChange={(type) => set({ type })} items={types} problem={problem} />;
}

function PayloadOf({
  draft,
  set,
  ...refused
}: PartProps & { readonly problem: string | undefined; readonly issues: readonly Issue[] }): ReactElement {
  const schema = usePublishedSchema(draft.type, draft.queue);
  return <PayloadField text={draft.payload} onChange={(payload) => set({ payload })} schema={schema} rows={5} {...refused} />;
}

function TimingFields({ draft, set }: PartProps): ReactElement {
  return (
    <>
      <SelectField
        label="Timing"
        value={draft.kind}
        onChange={(kind) => set({ kind: kind as ScheduleDraft["kind"] })}
        options={[
          ["cron", "by a cron expression"],
          ["every", "at an interval"],
        ]}
      />
      {draft.kind === "every" ? (
        <TextField label="Every" value={draft.every} onChange={(every) => set({ every })} hint="At least 1s: 10s, 5m, 1h, 1d." />
      ) : (
        <>
          <TextField
            label="Cron"
            mono
            value={draft.cron}
            onChange={(cron) => set({ cron })}
            hint={cronWords(draft.cron) ?? "Minute, hour, day of month, month, weekday; or six fields with seconds first."}
          />
          <SelectField
            label="Time zone"
            value={draft.timeZone}
            onChange={(timeZone) => set({ timeZone })}
            options={(ZONES.includes(draft.timeZone) ? ZONES : [draft.timeZone, ...ZONES]).map((zone) => [zone, zone])}
          />
        </>
      )}
    </>
  );
}

function Preview({ timing }: { readonly timing: TimingDraft }): ReactElement {
  const asked = useDeferredValue(JSON.stringify(timingOf(timing)));
  const { data, error } = useQuery({
    queryKey: ["preview", asked],
    queryFn: () => client.schedules.preview(timingOf(timing), PREVIEWED),
    placeholderData: (before) => before,
  });
  return (
    <section aria-live="polite" aria-label="Next runs" className="rounded-lg border bg-background p-3 sm:col-span-2">
      <h3 className="mb-1 text-xs font-medium text-muted-foreground">Next runs, in your time zone</h3>
      {error !== null ? (
        <p className="text-destructive">{messageOf(error)}</p>
      ) : (
        <RunTimes runs={data ?? []} className="grid gap-x-6 sm:grid-cols-2" />
      )}
    </section>
  );
}

function OtherFields({ draft, set }: PartProps): ReactElement {
  const queues = useKnownQueues();
  return (
    <>
      <Suggest label="Queue" placeholder="default" value={draft.queue} onChange={(queue) => set({ queue })} items={queues} />
      <SelectField
        label="Priority"
        value={draft.priority}
        onChange={(priority) => set({ priority })}
        options={
          (LEVELS as readonly string[]).includes(draft.priority)
            ? LEVELS.map((level) => [level, level])
            : [[draft.priority, draft.priority], ...LEVELS.map((level) => [level, level] as const)]
        }
      />
      <SelectField
        label="Missed runs"
        value={draft.catchUp}
        onChange={(catchUp) => set({ catchUp: catchUp as ScheduleDraft["catchUp"] })}
        options={[
          ["one", "one run for the latest"],
          ["skip", "skip"],
        ]}
      />
      <SelectField
        label="If the last run has not ended"
        value={draft.overlap}
        onChange={(overlap) => set({ overlap: overlap as ScheduleDraft["overlap"] })}
        options={[
          ["allow", "run anyway"],
          ["skip", "skip"],
        ]}
      />
    </>
  );
}
