import { type ReactElement, useState } from "react";
import type { KeyLimitOptions } from "../../../../core/limits.ts";
import { act } from "../../../act.ts";
import { client } from "../../../api.ts";
import { count } from "../../../format.ts";
import { NO_LIMIT, runningHint } from "../../../limit-words.ts";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { messageOf } from "../../../parts/notices.tsx";
import { useReason } from "../../../parts/use-reason.tsx";
import { visible } from "../../../safe-text.ts";
import { type EditedKey, WITHOUT_KEY } from "./edit-key.ts";
import { LimitFields } from "./limit-fields.tsx";
import { formOfKey, isEmpty, type LimitField, limitsIn, NONE, numberIn, type Refusal, refusalOf } from "./limit-form.ts";

interface KeyLimitsDialogProps {
  readonly queue: string;
  readonly edited: EditedKey;
  /** The limits of every key of the queue. */
  readonly everyKey: KeyLimitOptions;
  readonly onClose: () => void;
}

/** Sets or removes the limits that a key has of its own. Jobs without a key have a weight only. */
export function KeyLimitsDialog({ queue, edited: { key, own, running }, everyKey, onClose }: KeyLimitsDialogProps): ReactElement {
  const [form, setForm] = useState(() => formOfKey(own));
  const [refused, setRefused] = useState<Refusal | null>(null);
  const [problem, setProblem] = useState<string>();
  const reason = useReason();
  const name = key === null ? WITHOUT_KEY : visible(key);
  const names: readonly LimitField[] = key === null ? ["weight"] : ["running", "rate", "burst", "waiting", "weight"];
  const undo = (): Promise<unknown> => (own === null ? client.limits.remove(queue, key) : client.limits.set(queue, key, own));
  const onFailure = (error: unknown): void => {
    setRefused(refusalOf(error));
    if (refusalOf(error) === null) setProblem(messageOf(error));
  };
  const remove = async (): Promise<void> => {
    const removed = await act(
      () => client.limits.remove(queue, key, reason.options),
      (isNews) => (isNews ? `Limits of ${name} are removed` : `${name} has no limits of its own`),
      { undo, onFailure },
    );
    if (removed !== undefined) onClose();
  };
  const save = async (): Promise<void> => {
    setRefused(null);
    setProblem(undefined);
    if (isEmpty(form) && own === null) return setProblem("Fill in at least one of the fields.");
    if (isEmpty(form)) return remove();
    const done = await act(
      async () => (await client.limits.set(queue, key, limitsIn(form), reason.options), true),
      () => `Limits of ${name} are saved`,
      { undo, onFailure },
    );
    if (done === true) onClose();
  };
  const wanted = numberIn(form.running);
  const hints = running === undefined ? {} : { running: runningHint(running, typeof wanted === "number" ? wanted : null) };
  return (
    <FormDialog
      title={`Limits of ${name}`}
      onClose={onClose}
      problem={problem}
      submit="Save"
      onSubmit={save}
      other={own === null ? undefined : { label: "Remove its limits", onSubmit: remove }}
    >
      <p className="text-muted-foreground">
        {key === null
          ? `All jobs of ${queue} without a limit key share their turns as if they had one key. They have no limits of their own.`
          : `In ${queue}. Empty: as for every key. Type ${NONE} for no limit.`}
      </p>
      <LimitFields
        form={form}
        set={(change) => setForm({ ...form, ...change })}
        names={names}
        empty={emptyWords(everyKey)}
        problems={refused === null ? {} : { [refused.field]: refused.problem }}
        hints={hints}
        first={names[0]}
      />
      {reason.field}
    </FormDialog>
  );
}

/** What holds for a key where it has nothing of its own. */
function emptyWords({ running, rate, waiting }: KeyLimitOptions): Readonly<Record<LimitField, string>> {
  const text = (limit: number | null | undefined): string => (limit === null || limit === undefined ? NO_LIMIT : count(limit));
  return { running: text(running), rate: rate ?? NO_LIMIT, burst: "1", waiting: text(waiting), weight: "1" };
}
