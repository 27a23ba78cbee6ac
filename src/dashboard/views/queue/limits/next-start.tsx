import type { ReactElement } from "react";
import { type LimitState, nextStartOf, type QueueLimitState } from "../../../limit-words.ts";
import { HeldBadge } from "../../../parts/bits.tsx";
import { Until, useNow } from "../../../parts/time.tsx";

interface NextStartProps {
  readonly queue: QueueLimitState;
  /** Absent: any job of the queue. */
  readonly limitKey?: LimitState;
}

/** When limits let the next job start. */
export function NextStart({ queue, limitKey }: NextStartProps): ReactElement {
  const next = nextStartOf(queue, limitKey ?? null, useNow());
  switch (next.kind) {
    case "now":
      return <span className="text-muted-foreground">now</span>;
    case "full":
      return <span className="whitespace-nowrap">when a job ends</span>;
    case "paused":
      return <span className="whitespace-nowrap">when resumed</span>;
    case "rate":
      return <Until at={next.at} />;
    case "held":
      return (
        <span className="inline-flex items-center gap-1.5">
          <HeldBadge until={next.heldUntil} /> <Until at={next.at} />
        </span>
      );
  }
}
