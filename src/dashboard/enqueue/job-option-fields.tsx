import type { ReactElement } from "react";
import { useKnownQueues } from "../known-names.ts";
import { SelectField, TextArea, TextField } from "../parts/field.tsx";
import { LEVELS } from "../parts/priority.tsx";
import { Suggest } from "../parts/suggest.tsx";
import type { DraftProblems, EnqueueDraft } from "./draft.ts";

interface JobOptionFieldsProps {
  readonly draft: EnqueueDraft;
  readonly problems: DraftProblems;
  readonly set: (change: Partial<EnqueueDraft>) => void;
}

/** All that can be said about a job beside its type and payload. What is left empty is as usual. */
export function JobOptionFields({ draft, problems, set }: JobOptionFieldsProps): ReactElement {
  const queues = useKnownQueues();
  const levels: readonly (readonly [value: string, words: string])[] = LEVELS.map((level) => [level === "default" ? "" : level, level]);
  // A number that is no level is one of the choices as long as it is chosen.
  const priorities = levels.some(([value]) => value === draft.priority) ? levels : [[draft.priority, draft.priority] as const, ...levels];
  return (
    <div className="grid gap-4 pt-3 sm:grid-cols-2 lg:grid-cols-3">
      <Suggest
        label="Queue"
        placeholder="default"
        value={draft.queue}
        onChange={(queue) => set({ queue })}
        items={queues}
        problem={problems.queue}
      />
      <SelectField
        label="Priority"
        value={draft.priority}
        onChange={(priority) => set({ priority })}
        options={priorities}
        problem={problems.priority}
      />
      <TextField
        label="Delay"
        placeholder="none"
        value={draft.delay}
        onChange={(delay) => set({ delay })}
        problem={problems.delay}
        hint="30s, 5m, 2h, 1d"
      />
      <TextField
        label="Or at"
        type="datetime-local"
        value={draft.runAt}
        onChange={(runAt) => set({ runAt })}
        problem={problems.runAt}
        hint="In your time zone."
      />
      <TextField
        label="Retries"
        inputMode="numeric"
        placeholder="3"
        value={draft.maxRetries}
        onChange={(maxRetries) => set({ maxRetries })}
        problem={problems.maxRetries}
        hint="0 to 100."
      />
      <TextField
        label="Max lost attempts"
        inputMode="numeric"
        placeholder="3"
        value={draft.maxLost}
        onChange={(maxLost) => set({ maxLost })}
        problem={problems.maxLost}
        hint="How often it runs again after its worker died or was cut off: 0 to 100; none with 0 retries."
      />
      <TextField
        label="Retry delay"
        placeholder="1s"
        value={draft.retryDelay}
        onChange={(retryDelay) => set({ retryDelay })}
        problem={problems.retryDelay}
        hint="It doubles with each retry."
      />
      <TextField
        label="Timeout"
        placeholder="30s"
        value={draft.timeout}
        onChange={(timeout) => set({ timeout })}
        problem={problems.timeout}
        hint="Per attempt; 0 is none."
      />
      <TextField
        label="Idempotency key"
        mono
        value={draft.idempotencyKey}
        onChange={(idempotencyKey) => set({ idempotencyKey })}
        problem={problems.idempotencyKey}
        hint="The same key again is the same job."
      />
      <TextField label="Tags" value={draft.tags} onChange={(tags) => set({ tags })} problem={problems.tags} hint="By comma." />
      <TextField
        label="Webhook"
        type="url"
        placeholder="https://…"
        value={draft.webhookUrl}
        onChange={(webhookUrl) => set({ webhookUrl })}
        problem={problems.webhookUrl}
        hint="Is called when the job has ended."
      />
      <div className="sm:col-span-2">
        <TextArea
          label="Meta"
          rows={2}
          placeholder="{}"
          value={draft.meta}
          onChange={(meta) => set({ meta })}
          problem={problems.meta}
          hint="An object of your own that travels with the job."
        />
      </div>
    </div>
  );
}
