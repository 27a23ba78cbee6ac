/** Hints for workers on other machines, as a stream: that there is work in a queue, or that leases were ended by somebody else. */
import { RawReply, type RouteInput, type RouteParts } from "../route-input.ts";
import { EVENT_STREAM, eventStream, eventText } from "../server-sent-events.ts";

const LEASE = eventText("lease", {});

/** Between two readings equal hints are one, so a slow reader is behind by no more than one hint a queue. */
export async function watchStream({ client, clock }: RouteParts, input: RouteInput<"GET /api/v1/leases/watch">): Promise<RawReply> {
  // Nobody would read, or end, what is only asked for its headers.
  if (input.call.method === "HEAD") return new RawReply(EVENT_STREAM, "");
  input.startWaiting();
  const hints = new Set<string>();
  let wake: () => void = () => {};
  const hear = (text: string): void => {
    hints.add(text);
    wake();
  };
  const unwatch = client.leases.watch((hint) => hear(hint.topic === "lease" ? LEASE : workText(hint.queue)));
  // What came before the stream was open: there may be work already, and leases may be gone.
  hints.add(LEASE);
  try {
    for (const queue of await client.queues()) if (queue.counts.pending > 0 && !queue.paused) hints.add(workText(queue.name));
  } catch (error) {
    unwatch();
    throw error;
  }

  const stream = eventStream({
    clock,
    ending: input.ending,
    async next(signal) {
      while (hints.size === 0 && !signal.aborted) {
        await new Promise<void>((resolve) => (wake = resolve));
      }
      const text = [...hints].join("");
      hints.clear();
      return text;
    },
    ended: () => {
      unwatch();
      wake();
      input.leave();
    },
  });
  return new RawReply(EVENT_STREAM, stream);
}

function workText(queue: string): string {
  return eventText("work", { queue });
}
