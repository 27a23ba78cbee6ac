/**
 * REQUESTS TO UPGRADE, as Node's server hands them over: a bare socket, and nobody who would answer. Each is asked for all that any other call
 * is asked for; who is refused gets an ordinary answer, and the connection ends.
 */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Answerer } from "../answerer.ts";
import type { Answer } from "../call.ts";
import { NodeCall } from "../node-call.ts";
import type { PreparedRoute } from "../prepared-route.ts";
import { WireError } from "../problem.ts";
import type { UpgradeListener } from "./upgrade-listener.ts";

/** Answers requests to upgrade: at the path of this route with a WebSocket, anywhere else as a call that no route takes. */
export function upgradeListener(route: PreparedRoute, answerer: Answerer, basePath: string): UpgradeListener {
  const path = basePath + route.path;
  return (incoming, socket, head) => {
    // A connection that breaks says so by closing. Without anybody who listens, its error would end the process.
    socket.on("error", () => {});
    const { url = "/" } = incoming;
    const mark = url.indexOf("?");
    const call = new UpgradeCall(incoming, socket, head, mark === -1 ? "" : url.slice(mark + 1));
    const answering = (mark === -1 ? url : url.slice(0, mark)) === path ? answerer.answer(route, call, {}) : answerer.answerLost(call, []);
    void answering.then((answer) => {
      if (answer.status !== SWITCHING) writeRefusal(socket, answer);
    });
  };
}

const SWITCHING = 101;

/** What may come from the other side at once. Nothing has to. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/** Takes over sockets. It compresses nothing: that costs memory for each reader, and has been a way to exhaust servers. */
const sockets = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
});

/** Why a handshake failed, told to the one who waits for it. */
const refusals = new WeakMap<Duplex, (error: Error) => void>();
sockets.on("wsClientError", (error: Error, socket: Duplex) => refusals.get(socket)?.(error));

/** A call that asks for a WebSocket. */
export class UpgradeCall extends NodeCall {
  readonly isUpgrade = true;
  /** The connection itself. */
  readonly socket: Duplex;
  readonly #incoming: IncomingMessage;
  readonly #head: Buffer;

  constructor(incoming: IncomingMessage, socket: Duplex, head: Buffer, search: string) {
    super(incoming, socket, search);
    this.socket = socket;
    this.#incoming = incoming;
    this.#head = head;
  }

  /**
   * Switches to the protocol. `take` is called at once, so that nothing that was sent along is heard before somebody listens. Rejects when the
   * request is not one for a WebSocket.
   */
  accept(take: (webSocket: WebSocket) => void): Promise<void> {
    const { socket } = this;
    return new Promise((resolve, reject) => {
      const isOver = (): void => reject(new WireError("malformed_request", "the connection ended before it was upgraded"));
      // It ended while somebody else was asked: nothing would ever say so again.
      if (socket.destroyed) return isOver();
      refusals.set(socket, (error) => reject(new WireError("malformed_request", error.message)));
      socket.once("close", isOver);
      sockets.handleUpgrade(this.#incoming, socket, this.#head, (webSocket) => {
        take(webSocket);
        resolve();
      });
    });
  }
}

/** Answers a request that is not upgraded, and ends its connection. */
function writeRefusal(socket: Duplex, { status, headers, body }: Answer): void {
  if (socket.destroyed) return;
  const text = typeof body === "string" ? body : "";
  const lines = Object.entries({ ...headers, "Content-Length": Buffer.byteLength(text), Connection: "close" });
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines.map(([name, value]) => `${name}: ${value}`)].join("\r\n");
  socket.once("finish", () => socket.destroy());
  socket.end(`${head}\r\n\r\n${text}`);
}
