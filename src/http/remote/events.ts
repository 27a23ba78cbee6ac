/** What happens, from a server, as it happens. */
import { EventStream } from "../../core/event-stream.ts";
import { type EventWire, fromEventWire } from "../wire/event.ts";
import { type EventSourceOptions, readEventSource } from "./event-source.ts";

export interface RemoteEventsOptions extends Omit<EventSourceOptions, "route" | "onEvent" | "onBroken"> {
  /** Abort when the stream shall end. */
  readonly signals: readonly AbortSignal[];
}

/** Events from about now on. A stream that broke goes on where it was. What the server does not have any more, or could not be asked for, is a gap. */
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
