/** OPENS A PORT for a server, with limits on everything that a caller can make large or slow. */
import { createServer as createNodeServer, type Server as NodeServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { invalid, MillraceError } from "../core/errors.ts";
import { readInteger } from "../core/read-fields.ts";
import { isLoopback } from "./admission.ts";
import type { Server } from "./server.ts";

/** Where to listen. */
export interface ListenOptions {
  /** Default 8080; 0 takes any free port. */
  readonly port?: number | undefined;
  /** Default 127.0.0.1. An address that other machines can reach needs keys. */
  readonly host?: string | undefined;
  /** How many connections may be open at once. Default 10,000. */
  readonly maxConnections?: number | undefined;
  /** How long a request may take to arrive, in milliseconds; a slower one is answered with 408. Default 30 s. */
  readonly requestMs?: number | undefined;
}

/** An open port. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Accepts no more connections and closes the open ones: idle ones at once, the others within `graceMs`. May be called twice. */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

const DEFAULT_PORT = 8080;
const DEFAULT_HOST = "127.0.0.1";
const MAX_CONNECTIONS = 10_000;
const MAX_HEADER_BYTES = 16 * 1024;
const REQUEST_MS = 30_000;
/** The headers alone may take no longer than this. */
const HEADERS_MS = 10_000;
/** Longer than the idle time of common proxies, so that the proxy closes first. */
const KEEP_ALIVE_MS = 65_000;
const CHECK_MS = 2000;
const CLOSE_GRACE_MS = 5000;
/** How long a busy connection may be silent. */
const SILENCE_MS = 120_000;

/** Opens a port for a server. Refuses an address that other machines can reach while the server has no keys. */
export async function listen(server: Server, options: ListenOptions = {}): Promise<Listening> {
  const { port = DEFAULT_PORT, host = DEFAULT_HOST, maxConnections = MAX_CONNECTIONS, requestMs = REQUEST_MS } = options;
  if (readInteger(port, 0, 65_535) === undefined) throw invalid("port", "a whole number from 0 to 65535", port);
  if (server.isLocalOnly && !isLoopback(host)) {
    throw new MillraceError(
      "invalid_input",
      `host ${host} can be reached from other machines, so the server needs keys: set API_KEY, or listen on 127.0.0.1`,
      { field: "host" },
    );
  }
  const node = createNodeServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: Math.min(HEADERS_MS, requestMs),
      requestTimeout: requestMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Offers of other protocols are ignored and the request is answered: some clients offer HTTP/2 each time.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
      connectionsCheckingInterval: Math.min(CHECK_MS, requestMs),
    },
    server.listener,
  );
  // Drops callers that do not read their answer. Streams and long polls are never silent for so long.
  node.timeout = SILENCE_MS;
  node.on("upgrade", server.upgrade);
  node.maxConnections = maxConnections;
  const sockets = openSockets(node);
  await open(node, port, host);
  const { address, family, port: opened } = node.address() as AddressInfo;
  const name = family === "IPv6" ? `[${address}]` : address;
  return { url: `http://${name}:${opened}`, port: opened, close: ({ graceMs = CLOSE_GRACE_MS } = {}) => close(node, sockets, graceMs) };
}

function open(node: NodeServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    node.once("error", (error: NodeJS.ErrnoException) => reject(cannotListen(error, port, host)));
    node.listen(port, host, () => resolve());
  });
}

function cannotListen(error: NodeJS.ErrnoException, port: number, host: string): Error {
  const field = error.code === "EADDRINUSE" || error.code === "EACCES" ? "port" : "host";
  const why =
    error.code === "EADDRINUSE" ? "another program already listens there. Choose another port with --port or PORT" : error.message;
  return new MillraceError("invalid_input", `cannot listen on ${host}:${port}: ${why}`, { field, cause: error });
}

function openSockets(node: NodeServer): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  node.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

async function close(node: NodeServer, sockets: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  if (!node.listening) return;
  const closed = new Promise<void>((resolve) => node.close(() => resolve()));
  node.closeIdleConnections();
  // Node counts a connection without any data as busy.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  // Node no longer closes connections that were upgraded, but they keep its server open.
  const tooLong = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearTimeout(tooLong);
}
