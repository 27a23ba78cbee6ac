/**
 * EVENTS OVER A WEBSOCKET: one JSON message per event, and one write for all that came together. The other side sends nothing; pings show
 * whether it is still there.
 */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Clock, Timer } from "../../lib/clock.ts";
import { SessionOver } from "../ended-sessions.ts";
import type { Reader } from "./reader.ts";
import type { Frame } from "./ring.ts";

export interface SendEventsOptions {
  readonly webSocket: WebSocket;
  /** The connection of the WebSocket. */
  readonly socket: Duplex;
  readonly reader: Reader;
  readonly clock: Clock;
  /** Aborts when the server shuts down, or with a SessionOver. */
  readonly ending: AbortSignal;
  /** Called when the connection has ended, whoever ended it. */
  readonly ended: () => void;
}

/** A peer that has not answered a ping when the next is due is gone. */
const PING_MS = 30_000;
/** How long the other side may take to confirm the close. */
const CLOSE_MS = 2000;

/** Close codes of RFC 6455. */
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;

/** Sends a reader's events until either side closes. */
export function sendEvents({ webSocket, socket, reader, clock, ending, ended }: SendEventsOptions): void {
  let timer: Timer | null = null;
  let isAnswered = true;
  let isClosing = false;

  function close(code: number, reason: string): void {
    // A peer that keeps sending must not put off the end.
    if (isClosing) return;
    isClosing = true;
    timer?.cancel();
    timer = clock.setTimer(() => webSocket.terminate(), CLOSE_MS);
    webSocket.close(code, reason);
  }
  const shutDown = (): void => {
    const { reason } = ending as { reason: unknown };
    if (reason instanceof SessionOver) close(POLICY_VIOLATION, reason.message);
    else close(GOING_AWAY, "the server is shutting down");
  };

  function pingLater(): void {
    timer = clock.setTimer(() => {
      if (!isAnswered) return webSocket.terminate();
      isAnswered = false;
      webSocket.ping();
      pingLater();
    }, PING_MS);
  }

  async function send(): Promise<void> {
    for (;;) {
      const frames = await reader.next();
      if (frames === null) break;
      await write(webSocket, socket, frames);
    }
    // Our side closed the reader: the client or the hub was closed.
    if (webSocket.readyState === webSocket.OPEN) shutDown();
  }

  webSocket.on("pong", () => (isAnswered = true));
  webSocket.on("message", () => close(POLICY_VIOLATION, "this WebSocket accepts no messages"));
  // A close follows, with the code that belongs to the error.
  webSocket.on("error", () => {});
  webSocket.once("close", () => {
    timer?.cancel();
    ending.removeEventListener("abort", shutDown);
    reader.close();
    ended();
  });
  pingLater();
  ending.addEventListener("abort", shutDown);
  if (ending.aborted) shutDown();
  void send();
}

/** Resolves when the connection has taken all frames: until then, no more are read for it. */
function write(webSocket: WebSocket, socket: Duplex, frames: readonly Frame[]): Promise<void> {
  return new Promise((resolve) => {
    socket.cork();
    frames.forEach(({ data }, index) => webSocket.send(data, index === frames.length - 1 ? () => resolve() : undefined));
    socket.uncork();
  });
}
