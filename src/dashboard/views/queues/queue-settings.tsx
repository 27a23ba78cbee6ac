import { type FormEvent, type ReactElement, useState } from "react";
import { type Duration, formatDuration } from "../../../core/duration.ts";
import { MAX_FACETS } from "../../../core/facets.ts";
import { act } from "../../act.ts";
import { client, type Queue, type QueueOptions } from "../../api.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { CheckField, TextField } from "../../parts/field.tsx";
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
  });
  const reason = useReason();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const set = (change: Partial<typeof form>): void => setForm({ ...form, ...change });
  const field = (name: Exclude<keyof SettingsForm, "deadLetters">) => ({
    value: form[name],
    onChange: (value: string) => set({ [name]: value }),
  });
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const done = await act(
      async () => (await client.configure(queue.name, settingsOf(form), reason.options), true),
      () => `Settings of ${queue.name} are saved`,
      { onFailure: (error) => setProblem(messageOf(error)) },
    );
    setBusy(false);
    if (done === true) onClose();
  };
  return (
    <Dialog
      title={`Settings of ${queue.name}`}
      onClose={onClose}
      problem={problem}
      footer={
        <>
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button look="primary" type="submit" form="queue-settings" disabled={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <form id="queue-settings" onSubmit={(event) => void submit(event)} className="grid gap-4 p-4 sm:grid-cols-2">
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
        <div className="sm:col-span-2">{reason.field}</div>
      </form>
    </Dialog>
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
}

/** Reads only the numbers; the server checks everything. */
function settingsOf({ capacity, headStart, deadLetters, facets, age, count, keepAtLeast }: SettingsForm): QueueOptions {
  return {
    capacity: capacity.trim() === "" ? null : Number(capacity),
    headStart: headStart.trim() === "" ? null : (headStart.trim() as Duration),
    deadLetters,
    facets: facets.split(/[\s,]+/).filter((field) => field !== ""),
    retention: { age: age.trim() as Duration, count: Number(count), keepAtLeast: keepAtLeast.trim() as Duration },
  };
}
