/** Live events from a server. */
import { EventStream } from "../../core/event-stream.ts";
import { type EventWire, fromEventWire } from "../wire/event.ts";
import { type EventSourceOptions, readEventSource } from "./event-source.ts";

export interface RemoteEventsOptions extends Omit<EventSourceOptions, "route" | "onEvent" | "onBroken"> {
  /** Each of them ends the stream. */
  readonly signals: readonly AbortSignal[];
}

/** Events from about now on. A broken stream continues where it was; events that the server no longer has are a gap. */
export function remoteEvents({ signals, ...source }: RemoteEventsOptions): EventStream {
  return new EventStream({
    now: () => source.clock.now(),
    signals,
    listen: (stream) => {
      const over = new AbortController();
      const onEvent: EventSourceOptions["onEvent"] = ({ data }) => stream.receive([fromEventWire(data as EventWire)]);
      void readEventSource({ ...source, route: "GET /api/v1/events", onEvent, onBroken: () => stream.receiveGap() }, over.signal);
      return () => over.abort();
    },
  });
}
