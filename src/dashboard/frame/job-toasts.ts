/** Messages about jobs that fail for good, for users who want them. */
import { useEffect } from "react";
import type { Event } from "../../core/event.ts";
import { isInternalQueue } from "../../core/internal.ts";
import { count } from "../format.ts";
import { live } from "../live.ts";
import { usePreference } from "../preferences.ts";
import { toast } from "../toasts.ts";

/** Shows dead jobs while the preference is set: one by one if they are few, else how many. */
export function useJobToasts(): void {
  const [isWanted] = usePreference("jobToasts");
  useEffect(() => {
    if (!isWanted) return;
    return live.subscribe((events) => {
      const dead = events.filter((event) => event.event === "job:dead").filter(({ queue }) => !isInternalQueue(queue));
      if (dead.length > 2) toast(`${count(dead.length)} jobs failed for good`, { kind: "news" });
      else for (const event of dead) toast(textOf(event), { kind: "news" });
    });
  }, [isWanted]);
}

function textOf({ type, queue, error }: Extract<Event, { event: "job:dead" }>): string {
  return `${type} in ${queue} failed for good: ${error.slice(0, 200)}`;
}
