import type { ReactElement } from "react";
import { useKnownQueues } from "../known-names.ts";
import { AttemptFields } from "../parts/attempt-fields.tsx";
import { SelectField, TextArea, TextField } from "../parts/field.tsx";
import { LEVELS } from "../parts/priority.tsx";
import { Suggest } from "../parts/suggest.tsx";
import type { DraftProblems, EnqueueDraft } from "./draft.ts";

interface JobOptionFieldsProps {
  readonly draft: EnqueueDraft;
  readonly problems: DraftProblems;
  readonly set: (change: Partial<EnqueueDraft>) => void;
}

/** The options of a job. Empty means the default. */
export function JobOptionFields({ draft, problems, set }: JobOptionFieldsProps): ReactElement {
  const queues = useKnownQueues();
  const levels: readonly (readonly [value: string, words: string])[] = LEVELS.map((level) => [level === "default" ? "" : level, level]);
  // A number that is no level is a choice only while it is chosen.
  const priorities = levels.some(([value]) => value === draft.priority) ? levels : [[draft.priority, draft.priority] as const, ...levels];
  const field = (name: Exclude<keyof EnqueueDraft, "type" | "payload">) => ({
    value: draft[name],
    onChange: (value: string) => set({ [name]: value }),
    problem: problems[name],
  });
  return (
    <div className="grid gap-4 pt-3 sm:grid-cols-2 lg:grid-cols-3">
      <Suggest label="Queue" placeholder="default" {...field("queue")} items={queues} />
      <SelectField label="Priority" {...field("priority")} options={priorities} />
      <TextField label="Delay" placeholder="none" {...field("delay")} hint="30s, 5m, 2h, 1d" />
      <TextField label="Or run at" type="datetime-local" {...field("runAt")} hint="In your time zone." />
      <AttemptFields field={field} />
      <TextField
        label="Idempotency key"
        mono
        {...field("idempotencyKey")}
        hint="A second enqueue with the same key returns the first job."
      />
      <TextField
        label="Limit key"
        {...field("limitKey")}
        hint="Such as a customer: jobs with the same key share its limits, and keys take turns."
      />
      <TextField label="Cost" inputMode="numeric" placeholder="1" {...field("cost")} hint="How many units of a rate its start takes." />
      <TextField label="Tags" {...field("tags")} hint="Separated by commas." />
      <TextField label="Webhook" type="url" placeholder="https://…" {...field("webhookUrl")} hint="Called when the job has ended." />
      <div className="sm:col-span-2">
        <TextArea label="Meta" rows={2} placeholder="{}" {...field("meta")} hint="A JSON object that is kept with the job." />
      </div>
    </div>
  );
}
