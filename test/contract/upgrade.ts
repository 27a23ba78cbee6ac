/** Asks for a WebSocket, and gives what came of it: fetch cannot ask for one. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";

const HANDSHAKE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
};

/** The answer that refused it; null when it was granted, which is status 101. */
export async function refusalOf(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Response | null> {
  const asked = request(url, { headers: { ...HANDSHAKE, ...headers } });
  const granted = once(asked, "upgrade").then(([, socket]) => void (socket as NodeJS.WritableStream & { destroy(): void }).destroy());
  const refused = once(asked, "response").then(([response]) => response as IncomingMessage);
  asked.end();
  const response = await Promise.race([granted, refused]);
  if (response === undefined) return null;
  const body = Buffer.concat(await response.toArray());
  return new Response(body, { status: response.statusCode!, headers: response.headers as Record<string, string> });
}
