/** THE USERS OF A SOAK: producers, an operator, somebody who pages through everything, and two that listen badly. */
import { connect as connectTcp } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Client, JobInput } from "../../src/client/client.ts";
import { MillraceError } from "../../src/core/errors.ts";

const BATCHES_A_SECOND = 10;
const RECONNECT_EVERY_MS = 1_000;
const PAGE_EVERY_MS = 250;
const PAGE = 100;
const OPERATE_EVERY_MS = 2_000;
/** What the rules may answer an operator who comes too late. */
const TOO_LATE: ReadonlySet<string> = new Set(["wrong_status", "not_found"]);

/** How often what was done. */
export interface LoadCounts {
  enqueued: number;
  pages: number;
  reconnects: number;
}

export interface Load {
  readonly counts: LoadCounts;
  /** Rejects when something goes wrong; never resolves before the stop. */
  readonly broken: Promise<unknown>;
  /** Ends it. Throws what went wrong in between. */
  stop(): Promise<void>;
}

/** Puts a server under load: so many jobs a second, of all kinds. */
export function startLoad(client: Client, serverUrl: string, rate: number): Load {
  const over = new AbortController();
  const counts: LoadCounts = { enqueued: 0, pages: 0, reconnects: 0 };
  const recent: string[] = [];
  const parts = [
    again(1_000 / BATCHES_A_SECOND, over.signal, (turn) => produce(client, counts, recent, turn, rate / BATCHES_A_SECOND)),
    again(OPERATE_EVERY_MS, over.signal, () => operate(client, recent)),
    pageThrough(client, counts, over.signal),
    again(RECONNECT_EVERY_MS, over.signal, () => listenShortly(serverUrl, counts)),
    listenWithoutReading(serverUrl, over.signal),
  ];
  const all = Promise.all(parts);
  all.catch(() => over.abort());
  return {
    counts,
    broken: all,
    async stop() {
      over.abort();
      await all;
    },
  };
}

/** At a steady pace, also when a turn takes long: then the next one comes at once. */
async function again(everyMs: number, over: AbortSignal, turn: (number: number) => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  for (let number = 0; !over.aborted; number++) {
    await turn(number);
    await pause(startedAt + (number + 1) * everyMs - performance.now(), over);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), null, { signal }).catch(() => {});
}

/** One call with many, and a few calls with one. */
async function produce(client: Client, counts: LoadCounts, recent: string[], turn: number, jobs: number): Promise<void> {
  const wanted = Math.round((turn + 1) * jobs) - Math.round(turn * jobs);
  const inputs = Array.from({ length: wanted }, (_, index) => jobFor(counts.enqueued + index));
  const [first, ...others] = inputs;
  if (first === undefined) return;
  const { type, payload, ...options } = first;
  const [one, many] = await Promise.all([client.enqueue(type as string, payload, options), client.enqueueMany(others)]);
  for (const result of many) if (!result.ok) throw result.error;
  counts.enqueued += wanted;
  recent.push(one.id);
  if (recent.length > 50) recent.shift();
}

function jobFor(number: number): JobInput {
  const kind = number % 20;
  const payload = { number, text: "y".repeat(kind * 20) };
  if (kind < 10) return { type: "quick", payload, tags: ["soak"] };
  if (kind < 13) return { type: "slow", payload, priority: "high" };
  if (kind < 15) return { type: "chatty", payload, meta: { trace: String(number) } };
  if (kind === 15) return { type: "large", payload };
  if (kind === 16) return { type: "failing", payload, retryDelay: "1s" };
  if (kind === 17) return { type: "dying", payload };
  // The same request twice: the second gets the job of the first.
  if (kind === 18)
    return { type: "quick", payload: { keyed: Math.floor(number / 40) }, idempotencyKey: `key-${Math.floor(number / 40)}`, keyTtl: "10s" };
  return { type: "quick", payload, delay: "3s" };
}

/** Cancels what may be over already, looks at figures, and clears the dead letters, which nobody else does. */
async function operate(client: Client, recent: readonly string[]): Promise<void> {
  const id = recent.at(-1);
  if (id !== undefined) {
    try {
      await client.cancel(id);
    } catch (error) {
      if (!(error instanceof MillraceError && TOO_LATE.has(error.code))) throw error;
    }
  }
  await Promise.all([client.stats(), client.queues(), client.workers()]);
  await client.dead.purge();
}

/** To the last page of everything, and again from the first. */
async function pageThrough(client: Client, counts: LoadCounts, over: AbortSignal): Promise<void> {
  let cursor: string | undefined;
  while (!over.aborted) {
    const page = await client.list({ limit: PAGE, cursor });
    cursor = page.cursor ?? undefined;
    counts.pages++;
    await pause(PAGE_EVERY_MS, over);
  }
}

/** Comes, hears what there is for a moment, and goes. */
async function listenShortly(serverUrl: string, counts: LoadCounts): Promise<void> {
  const socket = new WebSocket(`${serverUrl.replace("http", "ws")}/api/v1/ws`);
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  counts.reconnects++;
  setTimeout(() => socket.close(), RECONNECT_EVERY_MS / 2).unref();
}

/** Opens a WebSocket and never reads a byte of it; comes again when the server has enough of that. */
async function listenWithoutReading(serverUrl: string, over: AbortSignal): Promise<void> {
  const { hostname, port, host } = new URL(serverUrl);
  while (!over.aborted) {
    const socket = connectTcp(Number(port), hostname);
    const key = Buffer.from("never reads 16 b").toString("base64");
    const head = [
      `GET /api/v1/ws HTTP/1.1`,
      `Host: ${host}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      `Sec-WebSocket-Key: ${key}`,
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
    // Never resumed: what comes fills the buffers of the system, and then those of the server.
    socket.pause();
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    const end = (): void => void socket.destroy();
    over.addEventListener("abort", end, { once: true });
    socket.on("error", () => {});
    await closed;
    over.removeEventListener("abort", end);
    await pause(RECONNECT_EVERY_MS, over);
  }
}
