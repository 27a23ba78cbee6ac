import { type ReactElement, useState } from "react";
import { type Duration, formatDuration } from "../../../core/duration.ts";
import { MAX_FACETS } from "../../../core/facets.ts";
import { act } from "../../act.ts";
import { client, type Queue, type QueueOptions } from "../../api.ts";
import { AttemptFields } from "../../parts/attempt-fields.tsx";
import { CheckField, TextField } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { messageOf } from "../../parts/notices.tsx";
import { useReason } from "../../parts/use-reason.tsx";

export function QueueSettings({ queue, onClose }: { readonly queue: Queue; readonly onClose: () => void }): ReactElement {
  const [form, setForm] = useState({
    capacity: queue.capacity === null ? "" : String(queue.capacity),
    headStart: queue.headStart === null ? "" : formatDuration(queue.headStart),
    deadLetters: queue.deadLetters,
    facets: queue.facets.map(({ field }) => field).join(", "),
    age: formatDuration(queue.retention.age),
    count: String(queue.retention.count),
    keepAtLeast: formatDuration(queue.retention.keepAtLeast),
    maxRetries: textOf(queue.defaults.maxRetries, String),
    maxLost: textOf(queue.defaults.maxLost, String),
    retryDelay: textOf(queue.defaults.retryDelay, formatDuration),
    backoff: queue.defaults.backoff ?? "",
    timeout: textOf(queue.defaults.timeout, formatDuration),
  });
  const reason = useReason();
  const [problem, setProblem] = useState<string>();
  const set = (change: Partial<typeof form>): void => setForm({ ...form, ...change });
  const field = (name: Exclude<keyof SettingsForm, "deadLetters">) => ({
    value: form[name],
    onChange: (value: string) => set({ [name]: value }),
  });
  const submit = async (): Promise<void> => {
    const done = await act(
      async () => (await client.configure(queue.name, settingsOf(form), reason.options), true),
      () => `Settings of ${queue.name} are saved`,
      { onFailure: (error) => setProblem(messageOf(error)) },
    );
    if (done === true) onClose();
  };
  return (
    <FormDialog title={`Settings of ${queue.name}`} onClose={onClose} problem={problem} submit="Save" onSubmit={submit} columns>
      <TextField
        label="Capacity"
        inputMode="numeric"
        placeholder="unlimited"
        {...field("capacity")}
        hint="How many jobs may wait. Beyond that, new jobs are refused."
      />
      <TextField
        label="Head start"
        placeholder="strict priority"
        {...field("headStart")}
        hint="How much time one step of priority is worth, such as 1m. Empty: the more urgent job always goes first."
      />
      <div className="sm:col-span-2">
        <CheckField
          label="Keep dead letters"
          hint="Jobs that fail for good become dead letters. Without it, they end as failed."
          checked={form.deadLetters}
          onChange={(deadLetters) => set({ deadLetters })}
        />
      </div>
      <div className="sm:col-span-2">
        <TextField
          label="Facets"
          placeholder="none"
          {...field("facets")}
          hint={`Payload fields to filter and count by, such as customer, order.region: at most ${MAX_FACETS}. Jobs enqueued from about a minute after the change have them.`}
        />
      </div>
      <TextField label="Keep completed jobs for" {...field("age")} hint="And cancelled ones. For example 24h or 7d." />
      <TextField label="Keep at most" inputMode="numeric" {...field("count")} hint="How many of them." />
      <TextField label="Keep each for at least" {...field("keepAtLeast")} hint="So that a caller that waits for a job sees its end." />
      <p className="text-xs text-muted-foreground sm:col-span-2">
        Defaults for new jobs of this queue, for every producer. Empty: the producer&apos;s own default. A job that sets a value itself
        keeps it.
      </p>
      <AttemptFields field={field} areDefaults />
      <div className="sm:col-span-2">{reason.field}</div>
    </FormDialog>
  );
}

interface SettingsForm {
  readonly capacity: string;
  readonly headStart: string;
  readonly deadLetters: boolean;
  readonly facets: string;
  readonly age: string;
  readonly count: string;
  readonly keepAtLeast: string;
  readonly maxRetries: string;
  readonly maxLost: string;
  readonly retryDelay: string;
  readonly backoff: string;
  readonly timeout: string;
}

function textOf(value: number | null, show: (value: number) => string): string {
  return value === null ? "" : show(value);
}

function valueOf<Value>(text: string, read: (text: string) => Value): Value | null {
  return text.trim() === "" ? null : read(text.trim());
}

const asDuration = (text: string): Duration => text as Duration;

/** Reads only the numbers; the server checks everything. */
function settingsOf({ capacity, headStart, deadLetters, facets, age, count, keepAtLeast, ...defaults }: SettingsForm): QueueOptions {
  return {
    capacity: valueOf(capacity, Number),
    headStart: valueOf(headStart, asDuration),
    deadLetters,
    facets: facets.split(/[\s,]+/).filter((field) => field !== ""),
    retention: { age: age.trim() as Duration, count: Number(count), keepAtLeast: keepAtLeast.trim() as Duration },
    defaults: {
      maxRetries: valueOf(defaults.maxRetries, Number),
      maxLost: valueOf(defaults.maxLost, Number),
      retryDelay: valueOf(defaults.retryDelay, asDuration),
      backoff: valueOf(defaults.backoff, String),
      timeout: valueOf(defaults.timeout, asDuration),
    },
  };
}
