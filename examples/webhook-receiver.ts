/**
 * Be told when a job has ended, instead of asking. The server sends a signed POST to the address that the job named, and tries again until
 * it is answered with 2xx: so a delivery can come twice, and a receiver keeps the ids that it has seen.
 *
 *     WEBHOOK_SECRET=change-me-to-32-random-characters WEBHOOK_ALLOW=127.0.0.1 npx millrace start --handlers examples/handlers.ts
 *     WEBHOOK_SECRET=change-me-to-32-random-characters node examples/webhook-receiver.ts
 *
 * WEBHOOK_ALLOW, because a server calls no address of its own network unless it was told that it may.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { connect, verifyWebhook } from "millrace";

const secret = process.env["WEBHOOK_SECRET"] ?? "change-me-to-32-random-characters";
const client = await connect(process.env["MILLRACE_URL"] ?? "http://127.0.0.1:8080");

const seen = new Set<string>();
const told = Promise.withResolvers<unknown>();

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // The bytes as they came: a parser in between would change them, and then the signature is another.
  const body = await buffer(request);
  try {
    const { id, event } = verifyWebhook({ body, headers: request.headers, secret });
    response.writeHead(204).end();
    if (seen.has(id)) return;
    seen.add(id);
    told.resolve(event);
  } catch (error) {
    console.log(`refused: ${(error as Error).message}`);
    response.writeHead(400).end();
  }
}

const receiver = createServer((request, response) => void receive(request, response));
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/jobs`;

// Anybody can send something to an open address. Without the secret it is refused.
const forged = await fetch(address, { method: "POST", body: '{"status":"completed"}' });
console.log(`a forged delivery is answered with ${forged.status}`);

await client.enqueue("email:send", { to: "ann@example.com" }, { webhookUrl: address });
console.log("told:", await told.promise);

receiver.close();
receiver.closeAllConnections();
await client.close();
