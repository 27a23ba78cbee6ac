/** A minimal node:http server: reads the body, and answers with as much JSON as ours. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tellAsServer } from "./server-message.ts";

const ANSWER = JSON.stringify({ echo: "x".repeat(500) });

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    JSON.parse(String(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
    response.writeHead(201, { "Content-Type": "application/json", "Content-Length": String(ANSWER.length) }).end(ANSWER);
  });
});
server.listen(0, "127.0.0.1", () => tellAsServer((server.address() as AddressInfo).port));
