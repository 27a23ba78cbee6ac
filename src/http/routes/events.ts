/** What happens, as a stream. */
import type { RouteInput, RouteParts } from "../route-input.ts";
import { eventStream, eventText } from "../server-sent-events.ts";
import { toEventWire } from "../wire/event.ts";

/** Events from now on. What a reader had before is not kept here, so one who asks for it is told that some was missed. */
export function newsStream({ client, clock }: RouteParts, input: RouteInput<"GET /api/v1/events">): ReadableStream<Uint8Array> {
  const reader = new AbortController();
  const events = client.events({ signal: reader.signal })[Symbol.asyncIterator]();
  const isReturning = input.call.header("last-event-id") !== null;
  const gap = { event: "gap", at: clock.now(), missed: 0 } as const;
  return eventStream({
    clock,
    ending: input.ending,
    greeting: isReturning ? eventText(gap.event, toEventWire(gap)) : "",
    async next() {
      const step = await events.next();
      return step.done === true ? null : eventText(step.value.event, toEventWire(step.value));
    },
    ended: () => {
      reader.abort();
      input.leave();
    },
  });
}
