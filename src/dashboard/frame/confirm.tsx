import { type ReactElement, useId, useState } from "react";
import { question } from "../ask.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
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
  const form = useId();
  const field = useId();
  const isReady = typed === undefined || text.trim() === typed;
  return (
    <Dialog
      title={title}
      onClose={() => answer(null)}
      footer={
        <>
          <Button look="quiet" onClick={() => answer(null)} data-first={danger && typed === undefined ? "" : undefined}>
            {no}
          </Button>
          {instead !== undefined && (
            <Button
              onClick={() => {
                answer(null);
                instead.act();
              }}
            >
              {instead.label}
            </Button>
          )}
          <Button
            look={danger ? "danger" : "primary"}
            type="submit"
            form={form}
            disabled={!isReady}
            data-first={danger || typed !== undefined ? undefined : ""}
          >
            {yes}
          </Button>
        </>
      }
    >
      <form
        id={form}
        className="space-y-3 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) answer(reason.options);
        }}
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
      </form>
    </Dialog>
  );
}
