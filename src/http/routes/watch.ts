/** Streams hints to workers on other machines: that there is work in a queue, or that somebody else ended leases. */
import type { RawReply, RouteInput, RouteParts } from "../route-input.ts";
import { eventReply, eventStream, eventText } from "../server-sent-events.ts";

const LEASE = eventText("lease", {});

/** Equal hints are merged until they are read, so a slow reader is behind by at most one hint per queue. */
export async function watchStream({ client, clock }: RouteParts, input: RouteInput<"GET /api/v1/leases/watch">): Promise<RawReply> {
  // After a HEAD request, nobody would read or end the stream.
  if (input.call.method === "HEAD") return eventReply("");
  input.startWaiting();
  const hints = new Set<string>();
  let wake: () => void = () => {};
  const addHint = (text: string): void => {
    hints.add(text);
    wake();
  };
  const unwatch = client.leases.watch((hint) => addHint(hint.topic === "lease" ? LEASE : workText(hint.queue)));
  // Before the stream opened, work may have come, and leases may have ended.
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
  return eventReply(stream);
}

function workText(queue: string): string {
  return eventText("work", { queue });
}
