import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect } from "../../src/connect.ts";
import { type Load, type LoadCounts, startLoad } from "./load.ts";
import { SoakedProcess } from "./soaked-process.ts";
import { openSoakedStore, type SoakedEngine, type SoakedStore } from "./store-size.ts";
import { judge, type Sample } from "./verdict.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const HANDLERS = fileURLToPath(new URL("./handlers.ts", import.meta.url));
const MINUTE_MS = 60_000;
/** Ended jobs are kept for less than a minute, so that the tables can be flat. */
const RETENTION = { age: "40s", count: 100_000, keepAtLeast: "20s" } as const;

export interface SoakWishes {
  readonly engine: SoakedEngine;
  readonly minutes: number;
  /** Jobs a second. */
  readonly rate: number;
  readonly sampleEveryMs: number;
  /** Told each sample as soon as it is there. */
  readonly onSample?: (sample: Sample) => void;
}

export interface SoakEnd {
  readonly samples: readonly Sample[];
  /** What is not flat, in words. */
  readonly complaints: readonly string[];
  readonly counts: LoadCounts;
  /** How jobs, and attempts that were followed by another, came to their end. */
  readonly ended: { readonly completed: number; readonly dead: number; readonly retried: number };
}

interface Parts {
  readonly store: SoakedStore;
  readonly server: SoakedProcess;
  readonly worker: SoakedProcess;
}

/** Runs a server and a worker under load, and measures now and then what they hold. */
export async function soak(wishes: SoakWishes): Promise<SoakEnd> {
  const store = await openSoakedStore(wishes.engine);
  const started: SoakedProcess[] = [];
  const start = (name: string, args: readonly string[]): SoakedProcess => {
    const process = new SoakedProcess(name, [...args, "--url", store.url], ROOT);
    started.push(process);
    return process;
  };
  try {
    const server = start("server", ["server", "--port", "0", "--no-dashboard"]);
    const serverUrl = await server.said(/API on (http:\S+)\/api\/v1/);
    const worker = start("worker", ["worker", "--handlers", HANDLERS, "--concurrency", "20"]);
    await worker.said(/a worker for/);
    return await underLoad(wishes, { store, server, worker }, serverUrl);
  } finally {
    await Promise.all(started.map((process) => process.kill()));
    await store.stop();
  }
}

async function underLoad(wishes: SoakWishes, parts: Parts, serverUrl: string): Promise<SoakEnd> {
  const client = await connect(serverUrl);
  await client.configure("default", { retention: RETENTION });
  const load = startLoad(client, serverUrl, wishes.rate);
  try {
    const samples = await sampleFor(wishes, parts, load);
    await load.stop();
    const { totalProcessed: completed, totalFailed: dead, totalRetried: retried } = await client.stats();
    await client.close();
    await parts.worker.stop();
    await parts.server.stop();
    return { samples, complaints: judge(samples), counts: load.counts, ended: { completed, dead, retried } };
  } finally {
    await load.stop().catch(() => {});
  }
}

async function sampleFor({ minutes, sampleEveryMs, onSample }: SoakWishes, parts: Parts, load: Load): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedAt = performance.now();
  for (let at = sampleEveryMs; at <= minutes * MINUTE_MS; at += sampleEveryMs) {
    await Promise.race([sleep(startedAt + at - performance.now()), load.broken]);
    const sample = { minute: at / MINUTE_MS, held: await heldBy(parts) };
    samples.push(sample);
    onSample?.(sample);
  }
  return samples;
}

async function heldBy({ store, server, worker }: Parts): Promise<Sample["held"]> {
  const [ours, theirs, { rows, bytes }] = await Promise.all([server.holding(), worker.holding(), store.size()]);
  const [serverDescriptors, workerDescriptors] = [server.descriptors(), worker.descriptors()];
  return {
    "server heap": ours.heap,
    "worker heap": theirs.heap,
    "server RSS": ours.rss,
    "worker RSS": theirs.rss,
    ...(serverDescriptors === null ? {} : { "server descriptors": serverDescriptors }),
    ...(workerDescriptors === null ? {} : { "worker descriptors": workerDescriptors }),
    "server handles": ours.handles,
    "worker handles": theirs.handles,
    "rows in the store": rows,
    "size of the store": bytes,
  };
}
