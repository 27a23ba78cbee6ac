/** SERVER-SENT EVENTS, READ. A stream that breaks is opened again, after a pause that grows while it does not come back. */
import type { Clock } from "../../lib/clock.ts";
import { sleep } from "../../lib/clock.ts";
import type { RouteName } from "../contract.ts";
import type { Transport } from "./transport.ts";

/** One event of a stream. */
export interface SourceEvent {
  readonly event: string;
  readonly data: unknown;
}

export interface EventSourceOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly route: RouteName;
  readonly onEvent: (event: SourceEvent) => void;
  /** The stream broke after it was open, or could not be opened: what happened meanwhile is missed. */
  readonly onBroken: () => void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** Reads a stream until `signal` aborts. Never rejects. */
export async function readEventSource(options: EventSourceOptions, signal: AbortSignal): Promise<void> {
  const { transport, clock, random, route, onBroken } = options;
  let lastId: string | null = null;
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const stream = await transport.openStream(route, lastId === null ? {} : { "Last-Event-ID": lastId }, signal);
      failures = 0;
      lastId = await readStream(stream, options, lastId);
    } catch {
      // The server is away, or this reader is done.
    }
    if (signal.aborted) return;
    onBroken();
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10));
    await sleep(clock, pause * (0.5 + random() / 2), signal);
  }
}

/** Reads to the end; answers the id of the last event, as far as events have ids. */
async function readStream(
  stream: ReadableStream<Uint8Array>,
  { onEvent }: EventSourceOptions,
  lastId: string | null,
): Promise<string | null> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let text = "";
  let id = lastId;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return id;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const read = readBlock(block);
      id = read.id ?? id;
      if (read.event !== null) onEvent({ event: read.event, data: read.data });
    }
  }
}

function readBlock(block: string): { id: string | null; event: string | null; data: unknown } {
  const fields = new Map(
    block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trimStart()]),
  );
  const data = fields.get("data");
  return {
    id: fields.get("id") ?? null,
    event: fields.get("event") ?? null,
    data: data === undefined ? null : (JSON.parse(data) as unknown),
  };
}
