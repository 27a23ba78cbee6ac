import { ScrollText } from "lucide-react";
import { type ReactElement, useEffect, useMemo, useRef, useState } from "react";
import type { Job, LogLine } from "../../../core/job.ts";
import { count, counted } from "../../../core/counted.ts";
import { isPaused } from "../../paused.ts";
import { CopyButton } from "../../parts/bits.tsx";
import { Card } from "../../parts/card.tsx";
import { Empty, Loaded } from "../../parts/notices.tsx";
import { useLogs } from "../../queries.ts";
import { visible } from "../../safe-text.ts";
import { useWatched } from "../../use-watched.ts";

/** The log lines of the handler, as they are written. */
export function Logs({ job }: { readonly job: Job }): ReactElement {
  const isHeld = useWatched(isPaused);
  const isRunning = job.status === "running";
  const result = useLogs(job.id, isRunning && !isHeld);
  const [wanted, setWanted] = useState("");
  const lines = useMemo(() => {
    const word = wanted.toLowerCase();
    return result.data?.filter(({ text }) => text.toLowerCase().includes(word));
  }, [result.data, wanted]);
  const text = useMemo(() => (lines ?? []).map(lineText).join("\n"), [lines]);
  return (
    <Card
      title="Log"
      flush
      aside={
        (result.data?.length ?? 0) > 0 && (
          <span className="flex items-center gap-1">
            <input
              type="search"
              aria-label="Filter lines"
              placeholder="Filter lines…"
              value={wanted}
              onChange={(event) => setWanted(event.target.value)}
              className="h-7 w-44 rounded-md border border-input bg-card px-2 text-xs max-sm:w-32"
            />
            <CopyButton text={text} what="log" />
          </span>
        )
      }
    >
      <Loaded result={{ ...result, data: lines }} lines={3}>
        {(shown) =>
          result.data?.length === 0 ? (
            <Empty icon={ScrollText} title="No log lines">
              A handler writes here with <code className="font-mono text-xs">ctx.log(…)</code>.
            </Empty>
          ) : (
            <Lines lines={shown} all={result.data?.length ?? 0} follows={isRunning} />
          )
        }
      </Loaded>
    </Card>
  );
}

function lineText({ at, text }: LogLine): string {
  return `${new Date(at).toISOString()} ${text}`;
}

/** Follows the end of the log, unless the user has scrolled up. */
function Lines({
  lines,
  all,
  follows,
}: {
  readonly lines: readonly LogLine[];
  readonly all: number;
  readonly follows: boolean;
}): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(follows);
  useEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  });
  return (
    <div
      ref={box}
      role="log"
      aria-label="Log lines"
      aria-live="off"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = follows && scrollHeight - scrollTop - clientHeight < 24;
      }}
      className="max-h-96 overflow-auto py-2 font-mono text-xs leading-5"
    >
      {lines.map((line, index) => (
        <div key={line.number} className="lazy-line">
          {line.attempt !== lines[index - 1]?.attempt && (
            <div className="px-4 pt-1 pb-0.5 font-sans text-2xs font-medium text-muted-foreground">Attempt {line.attempt}</div>
          )}
          <div className="flex gap-3 px-4 hover:bg-muted/60">
            <time dateTime={new Date(line.at).toISOString()} className="shrink-0 text-muted-foreground select-none">
              {clockTime(line.at)}
            </time>
            <span className="min-w-0 break-words whitespace-pre-wrap [overflow-wrap:anywhere]">{visible(line.text)}</span>
          </div>
        </div>
      ))}
      {lines.length < all && (
        <p className="px-4 pt-1 font-sans text-muted-foreground">
          {count(lines.length)} of {counted(all, "line")}
        </p>
      )}
    </div>
  );
}

function clockTime(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(11, 23);
}
