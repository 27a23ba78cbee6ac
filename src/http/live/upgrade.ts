/**
 * UPGRADE REQUESTS, as Node's server passes them on: a bare socket without a response object. Each passes the same checks as any other
 * call. A refused one gets an ordinary answer, and its connection ends.
 */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { MillraceError } from "../../core/errors.ts";
import { type Answerer, SWITCHING_PROTOCOLS } from "../answerer.ts";
import type { Answer } from "../call.ts";
import { NodeCall } from "../node-call.ts";
import type { PreparedRoute } from "../prepared-route.ts";
import { WireError } from "../problem.ts";
import type { UpgradeListener, UpgradeSource } from "./upgrade-listener.ts";

/** Whether this is the path of WebSockets. Upgrades pass no router, so without a base path any mount path may come before it. */
export function isUpgradePath(route: PreparedRoute, url: string, basePath: string): boolean {
  const path = url.replace(/\?.*$/s, "");
  return basePath === "" ? path.endsWith(route.path) : path === basePath + route.path;
}

/** The base paths of the servers that a Node server passes its upgrades to. */
const attached = new WeakMap<UpgradeSource, Set<string>>();

/** Passes upgrades on, and returns a function that ends this. Two servers must not answer the same request: both would write to its socket. */
export function attachTo(node: UpgradeSource, basePath: string, listener: UpgradeListener): () => void {
  const taken = attached.get(node) ?? new Set();
  if (taken.has(basePath) || (taken.size > 0 && (basePath === "" || taken.has(""))))
    throw new MillraceError("invalid_input", "a server is attached to this node:http server already: give each a basePath of its own", {
      field: "basePath",
    });
  attached.set(node, taken.add(basePath));
  node.on("upgrade", listener);
  return () => {
    node.off("upgrade", listener);
    taken.delete(basePath);
  };
}

/** Answers upgrade requests: at the path of this route with a WebSocket, elsewhere as a call that matches no route. */
export function upgradeListener(route: PreparedRoute, answerer: Answerer, basePath: string): UpgradeListener {
  return (incoming, socket, head) => {
    // A broken connection also closes. Without a listener, its error would end the process.
    socket.on("error", () => {});
    const { url = "/" } = incoming;
    const mark = url.indexOf("?");
    const call = new UpgradeCall(incoming, socket, head, mark === -1 ? "" : url.slice(mark + 1));
    const reply = isUpgradePath(route, url, basePath) ? answerer.answer(route, call, {}) : answerer.answerNoRoute(call, []);
    void reply.then((answer) => {
      if (answer.status !== SWITCHING_PROTOCOLS) writeRefusal(socket, answer);
    });
  };
}

/** The largest message that the other side may send. It need not send any. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/** Compresses nothing: compression costs memory for each reader, and attackers have used it to exhaust servers. */
const sockets = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
});

/** What to call if the handshake on a socket fails. */
const refusals = new WeakMap<Duplex, (error: Error) => void>();
sockets.on("wsClientError", (error: Error, socket: Duplex) => refusals.get(socket)?.(error));

/** A call that asks for a WebSocket. */
export class UpgradeCall extends NodeCall {
  readonly isUpgrade = true;
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
   * Switches protocols. Calls `take` at once, so that it listens before the first message arrives. Rejects if this is not a valid WebSocket
   * request.
   */
  accept(take: (webSocket: WebSocket) => void): Promise<void> {
    const { socket } = this;
    return new Promise((resolve, reject) => {
      const isOver = (): void => reject(new WireError("malformed_request", "the connection ended before it was upgraded"));
      // It ended during an earlier check: no event will follow.
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
