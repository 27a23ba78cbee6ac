/**
 * A process that asks: `load.ts PORT CONNECTIONS REQUESTS BATCH KEY`. Each connection sends its next request when the last is answered. It
 * speaks HTTP by hand over sockets, because a client that does more would be what is measured.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { PAYLOAD } from "../workload.ts";
import type { LoadWord } from "./run-load.ts";

const [port, connections, requests, batch] = process.argv.slice(2, 6).map(Number) as [number, number, number, number];
const key = process.argv[6] ?? "";

const JOB = { type: "bench", payload: PAYLOAD };
const PATH = batch === 1 ? "/api/v1/jobs" : "/api/v1/jobs/batch";
const BODY = JSON.stringify(batch === 1 ? JOB : { jobs: Array.from({ length: batch }, () => JOB) });
const PREFER = batch === 1 ? "" : "Prefer: return=minimal\r\n";
const REQUEST = Buffer.from(
  `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n${PREFER}Content-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`,
);
const GOOD = batch === 1 ? "201" : "20"; // an echo has one answer for both

/** One connection. Tells of each whole answer how long it took. */
class Line {
  readonly #socket: Socket;
  readonly #onAnswer: (ms: number) => boolean;
  #sentAt = 0;
  /** Bytes of the answer that are still to come; null while its head is not whole. */
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
      if (!this.#head.startsWith(GOOD, 9) || length === undefined)
        throw new Error(`not the answer that was expected: ${this.#head.slice(0, end)}`);
      this.#left = Number(length) - (this.#head.length - end - 4);
      this.#head = "";
    } else this.#left -= chunk.length;
    if (this.#left > 0) return;
    this.#left = null;
    if (this.#onAnswer(performance.now() - this.#sentAt)) this.send();
  }
}

/** Sends so many requests over all lines, and gives how long each took. */
async function ask(sockets: readonly Socket[], count: number): Promise<number[]> {
  const done = Promise.withResolvers<void>();
  const times: number[] = [];
  let sent = Math.min(sockets.length, count);
  const lines = sockets.map((socket) => {
    socket.removeAllListeners("data");
    return new Line(socket, (ms) => {
      times.push(ms);
      if (times.length === count) done.resolve();
      return sent++ < count;
    });
  });
  for (const line of lines.slice(0, count)) line.send();
  await done.promise;
  return times;
}

const sockets = Array.from({ length: connections }, () => connect(port, "127.0.0.1").setNoDelay(true));
await Promise.all(sockets.map((socket) => once(socket, "connect")));
const say = (word: LoadWord): void => void process.send!(word);

await ask(sockets, Math.ceil(requests / 4));
const go = once(process, "message");
say({ kind: "warm" });
await go;
const started = performance.now();
const times = await ask(sockets, requests);
say({ kind: "asked", ms: performance.now() - started, p99: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]! });
process.disconnect();
for (const socket of sockets) socket.destroy();
