/** The least that a server on node:http can do for a request: read the body, and answer with as much JSON as ours does. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tellAsServer } from "./server-word.ts";

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
