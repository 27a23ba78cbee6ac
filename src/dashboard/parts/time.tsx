import { type ReactElement, useSyncExternalStore } from "react";
import { distance, fullTime, localTime, NOTHING, roughSpan, took } from "../format.ts";
import { aheadMs, serverNow } from "../server-time.ts";

/** One clock for the page: it ticks each second while the page is visible. */
const ticks = new Set<() => void>();
let now = serverNow();
window.setInterval(() => {
  if (!document.hidden) update();
}, 1000);
aheadMs.subscribe(update);

function update(): void {
  now = serverNow();
  for (const tick of ticks) tick();
}

/** The current time of the server, updated each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

function subscribe(tick: () => void): () => void {
  ticks.add(tick);
  return () => ticks.delete(tick);
}

function Time({ at, text }: { readonly at: number | null; readonly text: (at: number) => string }): ReactElement {
  if (at === null) return <span className="text-muted-foreground">{NOTHING}</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)} className="whitespace-nowrap">
      {text(at)}
    </time>
  );
}

/** How long ago, or in how long; the tooltip has the exact time. */
export function Ago({ at }: { readonly at: number | null }): ReactElement {
  const present = useNow();
  return <Time at={at} text={(time) => distance(time, present)} />;
}

/** In how long; "now" once the time has come. */
export function Until({ at }: { readonly at: number }): ReactElement {
  const present = useNow();
  return <Time at={at} text={(time) => distance(Math.max(time, present), present)} />;
}

/** The exact local time. */
export function Moment({ at }: { readonly at: number | null }): ReactElement {
  return <Time at={at} text={localTime} />;
}

/** How long something took, or has taken so far. */
export function Duration({ ms, since }: { readonly ms: number | null; readonly since?: number | null }): ReactElement {
  const present = useNow();
  if (since !== undefined && since !== null)
    return <span className="whitespace-nowrap">{roughSpan(Math.max(0, present - since))} so far</span>;
  return <span className={`whitespace-nowrap ${ms === null ? "text-muted-foreground" : ""}`}>{took(ms)}</span>;
}
