import { type ReactElement, useSyncExternalStore } from "react";
import { distance, fullTime, localTime, NOTHING, roughSpan, took } from "../format.ts";

/** One clock for the page: it goes on each second, while somebody looks. */
const ticks = new Set<() => void>();
let now = Date.now();
window.setInterval(() => {
  if (document.hidden) return;
  now = Date.now();
  for (const tick of ticks) tick();
}, 1000);

/** The time, each second anew. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

function subscribe(tick: () => void): () => void {
  ticks.add(tick);
  return () => ticks.delete(tick);
}

/** How long ago, or in how long; the exact time shows when the pointer rests on it. */
export function Ago({ at }: { readonly at: number | null }): ReactElement {
  const present = useNow();
  if (at === null) return <span className="text-muted-foreground">{NOTHING}</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)} className="whitespace-nowrap">
      {distance(at, present)}
    </time>
  );
}

/** A point in time, exactly, in the reader's time zone. */
export function Moment({ at }: { readonly at: number | null }): ReactElement {
  if (at === null) return <span className="text-muted-foreground">{NOTHING}</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)} className="whitespace-nowrap">
      {localTime(at)}
    </time>
  );
}

/** How long something took, or takes by now. */
export function Duration({ ms, since }: { readonly ms: number | null; readonly since?: number | null }): ReactElement {
  const present = useNow();
  if (since !== undefined && since !== null) return <span className="whitespace-nowrap">{roughSpan(Math.max(0, present - since))}…</span>;
  return <span className={`whitespace-nowrap ${ms === null ? "text-muted-foreground" : ""}`}>{took(ms)}</span>;
}
