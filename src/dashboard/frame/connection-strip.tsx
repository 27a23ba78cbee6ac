import { RefreshCw, WifiOff } from "lucide-react";
import type { ReactElement } from "react";
import { connection } from "../connection.ts";
import { formatSpan } from "../../core/duration.ts";
import { live } from "../live.ts";
import { isPaused } from "../paused.ts";
import { Button } from "../parts/button.tsx";
import { useNow } from "../parts/time.tsx";
import { useWatched } from "../use-watched.ts";

/** Shows and switches live updates. */
export function LiveSwitch(): ReactElement {
  const { isStreaming, trouble } = useWatched(connection);
  const paused = useWatched(isPaused);
  const [word, dot] = paused
    ? ["Paused", "bg-warning"]
    : trouble !== null
      ? ["Offline", "bg-destructive"]
      : isStreaming
        ? ["Live", "bg-primary"]
        : ["Polling", "bg-scheduled"];
  return (
    <button
      type="button"
      aria-pressed={!paused}
      aria-label={`Live updates: ${word}`}
      title={paused ? "Resume live updates (l)" : "Pause live updates (l)"}
      onClick={() => isPaused.set(!paused)}
      className="inline-flex h-8 items-center gap-2 rounded-md px-2 text-muted-foreground transition-colors hover:bg-accent hover:text-foreground"
    >
      <span aria-hidden className={`relative size-2 rounded-full ${dot}`}>
        {word === "Live" && <span className="absolute inset-0 animate-ping rounded-full bg-primary opacity-40 [animation-duration:2.4s]" />}
      </span>
      <span className="max-md:sr-only">{word}</span>
    </button>
  );
}

/** Says that the data is old, and how old. */
export function ConnectionStrip(): ReactElement {
  const { trouble } = useWatched(connection);
  return <div role="status">{trouble !== null && <Away trouble={trouble} />}</div>;
}

function Away({ trouble }: { readonly trouble: string }): ReactElement {
  const { lastGoodAt } = useWatched(connection);
  const now = useNow();
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-warning/40 bg-warning/10 px-4 py-1.5 sm:px-6">
      <WifiOff aria-hidden className="size-4 text-warning" />
      <p className="min-w-0 flex-1">
        <strong className="font-medium">{trouble}</strong>{" "}
        <span className="text-muted-foreground">
          {lastGoodAt === null ? "No data was loaded yet." : `This data is ${formatSpan(Math.max(0, now - lastGoodAt))} old.`} Retrying…
        </span>
      </p>
      <Button look="quiet" icon={RefreshCw} onClick={() => void live.refresh()}>
        Retry now
      </Button>
    </div>
  );
}
