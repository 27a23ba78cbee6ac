/** A PORT OF ITS OWN for a server, with bounds on everything that a stranger can make large or slow. */
import { createServer as createNodeServer, type Server as NodeServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { invalid, MillraceError } from "../core/errors.ts";
import { readInteger } from "../core/read-fields.ts";
import { isLoopback } from "./gate.ts";
import type { Server } from "./server.ts";

/** Where to listen. */
export interface ListenOptions {
  /** Default 8080; 0 is any that is free. */
  readonly port?: number | undefined;
  /** Default 127.0.0.1. An address that other machines can reach needs keys. */
  readonly host?: string | undefined;
  /** How many connections may be open at once. Default 10,000. */
  readonly maxConnections?: number | undefined;
  /** How long a request may take to arrive, in milliseconds; who is slower is sent away with 408. Default 30 s. */
  readonly requestMs?: number | undefined;
}

/** An open port. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Takes no more connections, and ends those there are: at once where nothing is under way, the others within `graceMs`. May be called twice. */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

const DEFAULT_PORT = 8080;
const DEFAULT_HOST = "127.0.0.1";
const MAX_CONNECTIONS = 10_000;
const MAX_HEADER_BYTES = 16 * 1024;
const REQUEST_MS = 30_000;
/** The headers alone may take no longer than this. */
const HEADERS_MS = 10_000;
/** Longer than the idle time of usual proxies, so that it is they who close. */
const KEEP_ALIVE_MS = 65_000;
const CHECK_MS = 2000;
const CLOSE_GRACE_MS = 5000;
/** The most time in which nothing goes over a connection that waits for an answer, or to be read. */
const SILENCE_MS = 120_000;

/** Opens a port for a server. Refuses an address that other machines can reach while the server has no keys. */
export async function listen(server: Server, options: ListenOptions = {}): Promise<Listening> {
  const { port = DEFAULT_PORT, host = DEFAULT_HOST, maxConnections = MAX_CONNECTIONS, requestMs = REQUEST_MS } = options;
  if (readInteger(port, 0, 65_535) === undefined) throw invalid("port", "a whole number from 0 to 65535", port);
  if (server.isLocalOnly && !isLoopback(host)) {
    throw new MillraceError(
      "invalid_input",
      `host ${host} can be reached from other machines, so the server needs keys: set API_KEY, or listen on 127.0.0.1`,
      {
        field: "host",
      },
    );
  }
  const node = createNodeServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: Math.min(HEADERS_MS, requestMs),
      requestTimeout: requestMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Any other protocol that a caller would rather speak is passed over, and the request answered: some offer HTTP/2 with each.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
      connectionsCheckingInterval: Math.min(CHECK_MS, requestMs),
    },
    server.listener,
  );
  // Who asks and does not read is let go. Streams and long polls say something more often.
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
  const why = error.code === "EADDRINUSE" ? "another program listens there already" : error.message;
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
  // Node takes a connection over which nothing was said yet for a busy one.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  // What was upgraded is no connection of Node's server any more, but keeps it open.
  const tooLong = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearTimeout(tooLong);
}
