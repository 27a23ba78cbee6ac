import { Send } from "lucide-react";
import type { ReactElement } from "react";
import { isTerminal, type Job } from "../../../core/job.ts";
import { overlay } from "../../overlay.ts";
import { Button } from "../../parts/button.tsx";
import { visible } from "../../safe-text.ts";
import { useIsOperator } from "../../session.ts";

/** Opens the dialog that sends a signal. Only for those who may, and while the job can take it. */
export function SendSignal({ job, name }: { readonly job: Job; readonly name: string }): ReactElement | null {
  const isOperator = useIsOperator();
  if (!isOperator || isTerminal(job.status)) return null;
  return (
    <Button icon={Send} aria-label={`Send signal ${visible(name)}`} onClick={() => overlay.set({ kind: "signal", job, name })}>
      Send signal
    </Button>
  );
}
