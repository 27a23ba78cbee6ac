import { type ReactElement, type ReactNode, useState } from "react";
import type { LimitOptions } from "../../../../core/limits.ts";
import { act } from "../../../act.ts";
import { client } from "../../../api.ts";
import { NO_LIMIT, runningHint } from "../../../limit-words.ts";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { messageOf } from "../../../parts/notices.tsx";
import { useReason } from "../../../parts/use-reason.tsx";
import { LimitFields } from "./limit-fields.tsx";
import { formOfQueue, type LimitForm, numberIn, queueLimitsIn, type Refusal, refusalOf } from "./limit-form.ts";

interface QueueLimitsDialogProps {
  readonly queue: string;
  readonly limits: LimitOptions | null;
  /** How many of its jobs run, if that is known. */
  readonly running: number | undefined;
  readonly onClose: () => void;
}

const EMPTY = { running: NO_LIMIT, rate: NO_LIMIT, burst: "1", waiting: NO_LIMIT, weight: "1" } as const;

/** Edits the limits of a queue and of each key in it. */
export function QueueLimitsDialog({ queue, limits, running, onClose }: QueueLimitsDialogProps): ReactElement {
  const [form, setForm] = useState(() => formOfQueue(limits));
  const [refused, setRefused] = useState<Refusal | null>(null);
  const [problem, setProblem] = useState<string>();
  const reason = useReason();
  const fields = (of: "queue" | "perKey") => ({
    form: form[of],
    set: (change: Partial<LimitForm>) => setForm({ ...form, [of]: { ...form[of], ...change } }),
    empty: EMPTY,
    problems: refused?.of === of ? { [refused.field]: refused.problem } : {},
  });
  const submit = async (): Promise<void> => {
    setRefused(null);
    setProblem(undefined);
    const done = await act(
      async () => (await client.configure(queue, { limits: queueLimitsIn(form) }, reason.options), true),
      () => `Limits of ${queue} are saved`,
      {
        onFailure: (error) => {
          setRefused(refusalOf(error));
          if (refusalOf(error) === null) setProblem(messageOf(error));
        },
      },
    );
    if (done === true) onClose();
  };
  const wanted = numberIn(form.queue.running);
  const hints = running === undefined ? {} : { running: runningHint(running, typeof wanted === "number" ? wanted : null) };
  return (
    <FormDialog title={`Limits of ${queue}`} onClose={onClose} problem={problem} submit="Save" onSubmit={submit}>
      <p className="text-muted-foreground">They take effect with the next job that starts, in every process. Running jobs continue.</p>
      <Group title="The whole queue">
        <LimitFields {...fields("queue")} names={["running", "rate", "burst"]} hints={hints} first="running" />
      </Group>
      <Group title="Each limit key">
        <LimitFields {...fields("perKey")} names={["running", "rate", "burst", "waiting"]} />
      </Group>
      {reason.field}
    </FormDialog>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-2 text-sm font-semibold">{title}</legend>
      {children}
    </fieldset>
  );
}
