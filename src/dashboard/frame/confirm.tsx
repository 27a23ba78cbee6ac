import { type ReactElement, useId, useState } from "react";
import { question } from "../ask.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { useReason } from "../parts/use-reason.tsx";
import { useWatched } from "../use-watched.ts";

export function Confirm(): ReactElement | null {
  const open = useWatched(question);
  return open === null ? null : <OpenQuestion key={open.title} {...open} />;
}

type OpenProps = NonNullable<ReturnType<typeof question.get>>;

function OpenQuestion({ title, body, yes, no = "Cancel", danger = false, instead, typed, answer }: OpenProps): ReactElement {
  const [text, setText] = useState("");
  const reason = useReason();
  const field = useId();
  const confirm = (): void => answer(reason.options);
  const less = instead && {
    label: instead.label,
    onSubmit: () => {
      instead.onChoose();
      confirm();
    },
  };
  return (
    <FormDialog
      title={title}
      onClose={() => answer(null)}
      onSubmit={confirm}
      submit={yes}
      cancel={no}
      danger={danger}
      other={less}
      isReady={typed === undefined || text.trim() === typed}
      first={typed !== undefined ? undefined : danger ? "cancel" : "submit"}
    >
      <div>{body}</div>
      {reason.field}
      {typed !== undefined && (
        <label htmlFor={field} className="block space-y-1">
          <span className="text-muted-foreground">
            Type <strong className="font-mono text-foreground">{typed}</strong> to confirm
          </span>
          <input
            id={field}
            data-first
            autoComplete="off"
            value={text}
            onChange={(event) => setText(event.target.value)}
            className="h-8 w-full rounded-md border border-input bg-card px-2.5 font-mono"
          />
        </label>
      )}
    </FormDialog>
  );
}
