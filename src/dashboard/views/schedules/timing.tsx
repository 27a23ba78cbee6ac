import cronstrue from "cronstrue";
import type { ReactElement } from "react";
import { formatDuration } from "../../../core/duration.ts";
import type { Schedule } from "../../api.ts";

type Timing = Pick<Schedule, "cron" | "every" | "timeZone">;

/** A cron in plain words; nothing for one that the words do not know. */
export function cronWords(cron: string): string | null {
  try {
    return cronstrue.toString(cron, { use24HourTimeFormat: true, verbose: false });
  } catch {
    return null;
  }
}

/** When a schedule fires: as it was written, and in plain words. */
export function TimingText({ timing: { cron, every, timeZone } }: { readonly timing: Timing }): ReactElement {
  if (cron === null) return <span>every {formatDuration(every ?? 0)}</span>;
  const words = cronWords(cron);
  return (
    <span className="block py-1">
      <span className="block">{words ?? <code className="font-mono text-xs">{cron}</code>}</span>
      <span className="block text-xs text-muted-foreground">
        {words !== null && <code className="font-mono">{cron}</code>} {timeZone ?? "UTC"}
      </span>
    </span>
  );
}
