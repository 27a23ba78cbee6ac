import cronstrue from "cronstrue";
import type { ReactElement } from "react";
import { formatDuration } from "../../../core/duration.ts";
import type { Schedule } from "../../api.ts";
import { Ago, Moment } from "../../parts/time.tsx";

type Timing = Pick<Schedule, "cron" | "every" | "timeZone">;

/** A cron expression in plain words; null if there are none for it. */
export function cronWords(cron: string): string | null {
  try {
    return cronstrue.toString(cron, { use24HourTimeFormat: true, verbose: false });
  } catch {
    return null;
  }
}

/** The times of runs, as a list. */
export function RunTimes({ runs, className }: { readonly runs: readonly number[]; readonly className: string }): ReactElement {
  return (
    <ol className={className}>
      {runs.map((at) => (
        <li key={at} className="flex gap-3">
          <Moment at={at} />
          <span className="text-muted-foreground">
            <Ago at={at} />
          </span>
        </li>
      ))}
    </ol>
  );
}

/** When a schedule runs: as it was written, and in plain words. */
export function TimingText({ timing: { cron, every, timeZone } }: { readonly timing: Timing }): ReactElement {
  if (cron === null) return <span>Every {formatDuration(every ?? 0)}</span>;
  const words = cronWords(cron);
  return (
    <span className="block">
      <span className="block">{words ?? <code className="font-mono text-xs">{cron}</code>}</span>
      <span className="block text-xs text-muted-foreground">
        {words !== null && <code className="font-mono">{cron}</code>} {timeZone ?? "UTC"}
      </span>
    </span>
  );
}
