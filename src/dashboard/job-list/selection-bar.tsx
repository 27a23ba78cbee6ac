/** Actions on the selected jobs, and their progress. */
import { Square, X } from "lucide-react";
import type { ReactElement } from "react";
import { counted } from "../../core/counted.ts";
import { ACTION_ICONS, ACTION_WORDS, changeJobs, isValid, JOB_ACTIONS, type JobAction, progress } from "../job-actions.ts";
import { Meter } from "../parts/bits.tsx";
import { Button, IconButton } from "../parts/button.tsx";
import { useWatched } from "../use-watched.ts";
import type { Selection } from "./selection.ts";

/** Below the list, while something is selected. */
export function SelectionBar({ selection }: { readonly selection: Selection }): ReactElement | null {
  const running = useWatched(progress);
  if (selection.jobs.length === 0 && running === null) return null;
  return (
    <div
      data-selection=""
      className="sticky bottom-0 z-10 flex min-h-12 flex-wrap items-center gap-2 border-t bg-popover px-4 py-2 max-lg:bottom-(--toasts) max-sm:bottom-[max(3.5rem,var(--toasts))]"
    >
      {running === null ? (
        <Choices selection={selection} />
      ) : (
        <>
          <span role="status" className="shrink-0">
            {ACTION_WORDS[running.action]}: {running.done + running.failed} of {counted(running.total, "job")}
            {running.failed > 0 && <span className="text-destructive">, {running.failed} failed</span>}
          </span>
          <span className="w-48">
            <Meter value={running.done + running.failed} of={running.total} label="progress" />
          </span>
          <Button icon={Square} onClick={running.stop}>
            Stop
          </Button>
        </>
      )}
    </div>
  );
}

function Choices({ selection }: { readonly selection: Selection }): ReactElement {
  const run = async (action: JobAction): Promise<void> => {
    if (await changeJobs(action, selection.jobs)) selection.unselect(selection.jobs);
  };
  return (
    <>
      <span className="mr-auto font-medium">{counted(selection.jobs.length, "job")} selected</span>
      {JOB_ACTIONS.map((action) => {
        const able = selection.jobs.filter(({ status }) => isValid(action, status)).length;
        if (able === 0) return null;
        const words = able === selection.jobs.length ? ACTION_WORDS[action] : `${ACTION_WORDS[action]} ${able}`;
        const look = action === "delete" ? "careful" : "plain";
        return (
          <Button key={action} icon={ACTION_ICONS[action]} look={look} onClick={() => void run(action)}>
            {words}
          </Button>
        );
      })}
      <IconButton icon={X} label="Clear the selection" onClick={() => selection.clear()} />
    </>
  );
}
