import { type ReactElement, useId, useState } from "react";
import { question } from "../ask.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { useWatched } from "../use-watched.ts";

export function Confirm(): ReactElement | null {
  const open = useWatched(question);
  return open === null ? null : <OpenQuestion key={open.title} {...open} />;
}

type OpenProps = NonNullable<ReturnType<typeof question.get>>;

function OpenQuestion({ title, body, yes, no = "Cancel", danger = false, instead, typed, answer }: OpenProps): ReactElement {
  const [text, setText] = useState("");
  const field = useId();
  const isReady = typed === undefined || text.trim() === typed;
  return (
    <Dialog
      title={title}
      onClose={() => answer(false)}
      footer={
        <>
          <Button look="quiet" onClick={() => answer(false)} data-first={typed === undefined ? "" : undefined}>
            {no}
          </Button>
          {instead !== undefined && (
            <Button
              onClick={() => {
                answer(false);
                instead.act();
              }}
            >
              {instead.label}
            </Button>
          )}
          <Button look={danger ? "danger" : "primary"} disabled={!isReady} onClick={() => answer(true)}>
            {yes}
          </Button>
        </>
      }
    >
      <form
        className="space-y-3 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) answer(true);
        }}
      >
        <div>{body}</div>
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
