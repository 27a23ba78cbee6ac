/**
 * The client process: `load.ts PORT CONNECTIONS BATCH SECONDS KEY`. Each connection sends its next request when the last is answered. It
 * writes HTTP to raw sockets, because a real client would cost more than the server that we measure.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { warmUpMs } from "../measure/meter.ts";
import { percentileOf } from "../measure/sample.ts";
import { PAYLOAD } from "../payload.ts";
import type { LoadMessage } from "./run-load.ts";

const [port, connections, batch, seconds] = process.argv.slice(2, 6).map(Number) as [number, number, number, number];
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

/** Sends requests over all connections for a time, and returns how long each took. */
async function ask(sockets: readonly Socket[], forMs: number): Promise<number[]> {
  const until = performance.now() + forMs;
  const times: number[] = [];
  const ends = sockets.map((socket) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.removeAllListeners("data");
    const connection = new Connection(socket, (ms) => {
      times.push(ms);
      if (performance.now() < until) return true;
      resolve();
      return false;
    });
    connection.send();
    return promise;
  });
  await Promise.all(ends);
  return times;
}

const sockets = Array.from({ length: connections }, () => connect(port, "127.0.0.1").setNoDelay(true));
await Promise.all(sockets.map((socket) => once(socket, "connect")));
const say = (message: LoadMessage): void => void process.send!(message);

await ask(sockets, warmUpMs(seconds));
const go = once(process, "message");
say({ kind: "warm" });
await go;
const started = performance.now();
const times = await ask(sockets, seconds * 1000);
say({ kind: "asked", requests: times.length, ms: performance.now() - started, p99: percentileOf(times, 0.99) });
process.disconnect();
for (const socket of sockets) socket.destroy();
