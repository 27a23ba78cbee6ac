/**
 * Receives a webhook when a job has ended. The server sends a signed POST to the job's URL, and retries until the answer is 2xx. A delivery
 * can come twice, so the receiver remembers the ids it has seen.
 *
 *     WEBHOOK_SECRET=change-me-to-32-random-characters WEBHOOK_ALLOW=127.0.0.1 npx millrace start --handlers examples/handlers.ts
 *     WEBHOOK_SECRET=change-me-to-32-random-characters node examples/webhook-receiver.ts
 *
 * WEBHOOK_ALLOW is needed because, by default, a server calls no private addresses.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { connect, verifyWebhook } from "millrace";

const secret = process.env["WEBHOOK_SECRET"] ?? "change-me-to-32-random-characters";
const client = await connect(process.env["MILLRACE_URL"] ?? "http://127.0.0.1:8080");

const seen = new Set<string>();
const received = Promise.withResolvers<unknown>();

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // The unchanged bytes: the signature would not match a body that was parsed and written again.
  const body = await buffer(request);
  try {
    const { id, event } = verifyWebhook({ body, headers: request.headers, secret });
    response.writeHead(204).end();
    if (seen.has(id)) return;
    seen.add(id);
    received.resolve(event);
  } catch (error) {
    console.log(`refused: ${(error as Error).message}`);
    response.writeHead(400).end();
  }
}

const receiver = createServer((request, response) => void receive(request, response));
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/jobs`;

// Anybody can send a request to this URL. Without the secret it is refused.
const forged = await fetch(address, { method: "POST", body: '{"status":"completed"}' });
console.log(`a forged delivery is answered with ${forged.status}`);

await client.enqueue("email:send", { to: "ann@example.com" }, { webhookUrl: address });
console.log("received:", await received.promise);

receiver.close();
receiver.closeAllConnections();
await client.close();
