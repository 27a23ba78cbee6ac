/**
 * EVENTS OVER A WEBSOCKET: a JSON message for each, and one write for all that came together. The other side has nothing to say; that it is still
 * there is asked now and then.
 */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Clock, Timer } from "../../lib/clock.ts";
import { SessionOver } from "../ended-sessions.ts";
import type { Reader } from "./reader.ts";
import type { Frame } from "./ring.ts";

export interface TellingOptions {
  readonly webSocket: WebSocket;
  /** What it runs over. */
  readonly socket: Duplex;
  readonly reader: Reader;
  readonly clock: Clock;
  /** Aborts when the server shuts down, or with a SessionOver. */
  readonly ending: AbortSignal;
  /** The connection has ended, whoever ended it. */
  readonly ended: () => void;
}

/** Who has not answered one ping when the next is due is gone. */
const PING_MS = 30_000;
/** How long the other side may take to agree that it is over. */
const CLOSE_MS = 2000;

/** Numbers of RFC 6455. */
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;

/** Tells a reader's events until either side has enough. */
export function tellOver({ webSocket, socket, reader, clock, ending, ended }: TellingOptions): void {
  let timer: Timer | null = null;
  let isAnswered = true;
  let isClosing = false;

  function close(code: number, reason: string): void {
    // Who goes on sending does not put off the end.
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

  async function tell(): Promise<void> {
    for (;;) {
      const frames = await reader.next();
      if (frames === null) break;
      await write(webSocket, socket, frames);
    }
    // The reader was closed from within: the client over the store was, or the hub.
    if (webSocket.readyState === webSocket.OPEN) shutDown();
  }

  webSocket.on("pong", () => (isAnswered = true));
  webSocket.on("message", () => close(POLICY_VIOLATION, "this connection only tells, and takes no messages"));
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
  void tell();
}

/** Resolves when the connection has taken all of it: until then nothing more is read for it. */
function write(webSocket: WebSocket, socket: Duplex, frames: readonly Frame[]): Promise<void> {
  return new Promise((resolve) => {
    socket.cork();
    frames.forEach(({ data }, index) => webSocket.send(data, index === frames.length - 1 ? () => resolve() : undefined));
    socket.uncork();
  });
}
