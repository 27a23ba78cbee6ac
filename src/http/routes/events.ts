/** Live events, as a stream or over a WebSocket. */
import type { Hub } from "../live/hub.ts";
import type { Reader } from "../live/reader.ts";
import { UpgradeCall } from "../live/upgrade.ts";
import { sendEvents } from "../live/web-socket.ts";
import { WireError } from "../problem.ts";
import type { RawReply, Reply, RouteInput, RouteParts } from "../route-input.ts";
import { eventFrame, eventReply, eventStream } from "../server-sent-events.ts";

interface LiveParts extends Pick<RouteParts, "clock"> {
  readonly hub: Hub;
}

/** Events from now on, or after the last one that the reader got. */
export function liveStream({ hub, clock }: LiveParts, input: RouteInput<"GET /api/v1/events">): RawReply {
  // After a HEAD request, nobody would read or end the stream.
  if (input.call.method === "HEAD") return eventReply("");
  const reader = openReader(hub, input);
  const stream = eventStream({
    clock,
    ending: input.ending,
    // A reader that is cut off before the first event can still say where it was.
    greeting: `id: ${reader.position}\n\n`,
    next: async () => (await reader.next())?.map(({ id, event, data }) => eventFrame(event, data, id)).join("") ?? null,
    ended: () => {
      reader.close();
      input.leave();
    },
  });
  return eventReply(stream);
}

export async function liveSocket({ hub, clock }: LiveParts, input: RouteInput<"GET /api/v1/ws">): Promise<Reply<null>> {
  const { call } = input;
  if (!(call instanceof UpgradeCall)) {
    throw new WireError(
      "upgrade_required",
      "the request does not ask for a WebSocket, or the application does not pass upgrades to server.upgrade",
      {
        headers: { Upgrade: "websocket" },
      },
    );
  }
  const reader = openReader(hub, input);
  try {
    await call.accept((webSocket) => {
      sendEvents({ webSocket, socket: call.socket, reader, clock, ending: input.ending, ended: () => input.leave() });
    });
  } catch (error) {
    reader.close();
    throw error;
  }
  return { status: 101, body: null };
}

function openReader(hub: Hub, input: RouteInput<"GET /api/v1/events" | "GET /api/v1/ws">): Reader {
  input.startWaiting();
  const lastId = input.call.header("last-event-id") ?? input.query.last_event_id ?? null;
  return hub.open({ caller: input.caller?.id ?? null, lastId });
}
