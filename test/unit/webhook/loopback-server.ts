import { once } from "node:events";
import http, { type IncomingMessage, type RequestListener } from "node:http";
import https from "node:https";
import net, { type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { CERTIFICATE, KEY } from "./certificate.ts";

export interface LoopbackServer {
  readonly port: number;
  /** How many connections were made. */
  readonly connections: () => number;
  /** Resolves when every connection that was made is closed. */
  readonly allClosed: () => Promise<void>;
}

/** Listens on a free port of 127.0.0.1 (or another address) until the test ends. */
async function listen(server: net.Server, host: string): Promise<LoopbackServer> {
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => {}); // the other side hangs up when it has had enough
  });
  server.listen(0, host);
  await once(server, "listening");
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    if (server.listening) await once(server, "close");
  });
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.length,
    allClosed: async () => {
      const open = sockets.filter((socket) => !socket.destroyed);
      await Promise.all(open.map((socket) => new Promise((resolve) => socket.once("close", resolve))));
    },
  };
}

/** An HTTP server. */
export function serve(answer: RequestListener, host = "127.0.0.1"): Promise<LoopbackServer> {
  return listen(http.createServer(answer), host);
}

/** An HTTPS server with a certificate for hooks.test. */
export function serveTls(answer: RequestListener): Promise<LoopbackServer> {
  return listen(https.createServer({ key: KEY, cert: CERTIFICATE }, answer), "127.0.0.1");
}

/** A server that says to each connection what it likes, HTTP or not, once it has heard something. */
export function serveRaw(talk: (socket: Socket) => void): Promise<LoopbackServer> {
  return listen(
    net.createServer((socket) => void socket.once("data", () => talk(socket))),
    "127.0.0.1",
  );
}

/** The whole body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** Writes again and again, as fast as the other side takes it or at an interval, until it hangs up. */
export function writeForEver(stream: NodeJS.WritableStream & { readonly destroyed?: boolean }, chunk: string, everyMs = 0): void {
  const again = (): void => {
    if (stream.destroyed) return;
    if (everyMs > 0) setTimeout(() => stream.write(chunk, again), everyMs);
    else stream.write(chunk, again);
  };
  again();
}
