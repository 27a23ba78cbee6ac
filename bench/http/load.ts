/**
 * The client process: `load.ts PORT CONNECTIONS REQUESTS BATCH KEY`. Each connection sends its next request when the last is answered. It
 * writes HTTP to raw sockets, because a real client would cost more than the server that we measure.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { PAYLOAD } from "../workload.ts";
import type { LoadMessage } from "./run-load.ts";

const [port, connections, requests, batch] = process.argv.slice(2, 6).map(Number) as [number, number, number, number];
const key = process.argv[6] ?? "";

const JOB = { type: "bench", payload: PAYLOAD };
const PATH = batch === 1 ? "/api/v1/jobs" : "/api/v1/jobs/batch";
const BODY = JSON.stringify(batch === 1 ? JOB : { jobs: Array.from({ length: batch }, () => JOB) });
const PREFER = batch === 1 ? "" : "Prefer: return=minimal\r\n";
const REQUEST = Buffer.from(
  `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n${PREFER}Content-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`,
);
const GOOD = batch === 1 ? "201" : "20"; // the echo server always answers 201

/** One connection. Calls back with the time of each complete answer. */
class Connection {
  readonly #socket: Socket;
  readonly #onAnswer: (ms: number) => boolean;
  #sentAt = 0;
  /** Missing bytes of the answer; null until its head is complete. */
  #left: number | null = null;
  #head = "";

  constructor(socket: Socket, onAnswer: (ms: number) => boolean) {
    this.#socket = socket;
    this.#onAnswer = onAnswer;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
  }

  send(): void {
    this.#sentAt = performance.now();
    this.#socket.write(REQUEST);
  }

  #take(chunk: Buffer): void {
    if (this.#left === null) {
      this.#head += chunk.toString("latin1");
      const end = this.#head.indexOf("\r\n\r\n");
      if (end === -1) return;
      const length = /content-length: (\d+)/i.exec(this.#head)?.[1];
      if (!this.#head.startsWith(GOOD, 9) || length === undefined) throw new Error(`unexpected answer: ${this.#head.slice(0, end)}`);
      this.#left = Number(length) - (this.#head.length - end - 4);
      this.#head = "";
    } else this.#left -= chunk.length;
    if (this.#left > 0) return;
    this.#left = null;
    if (this.#onAnswer(performance.now() - this.#sentAt)) this.send();
  }
}

/** Sends `count` requests over all connections, and returns the time of each. */
async function ask(sockets: readonly Socket[], count: number): Promise<number[]> {
  const done = Promise.withResolvers<void>();
  const times: number[] = [];
  let sent = Math.min(sockets.length, count);
  const opened = sockets.map((socket) => {
    socket.removeAllListeners("data");
    return new Connection(socket, (ms) => {
      times.push(ms);
      if (times.length === count) done.resolve();
      return sent++ < count;
    });
  });
  for (const connection of opened.slice(0, count)) connection.send();
  await done.promise;
  return times;
}

const sockets = Array.from({ length: connections }, () => connect(port, "127.0.0.1").setNoDelay(true));
await Promise.all(sockets.map((socket) => once(socket, "connect")));
const say = (message: LoadMessage): void => void process.send!(message);

await ask(sockets, Math.ceil(requests / 4));
const go = once(process, "message");
say({ kind: "warm" });
await go;
const started = performance.now();
const times = await ask(sockets, requests);
say({ kind: "asked", ms: performance.now() - started, p99: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]! });
process.disconnect();
for (const socket of sockets) socket.destroy();
