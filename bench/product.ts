import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Client, connect } from "millrace";
import { byCallers, PAYLOAD, percentileOf, rate } from "./workload.ts";

/** A client on an empty store of its own. */
export interface Place {
  readonly client: Client;
  /** The file, where there is one. */
  readonly path: string | null;
  close(): Promise<void>;
}

export async function openPlace(engine: "memory" | "sqlite"): Promise<Place> {
  if (engine === "memory") {
    const client = await connect("memory:");
    return { client, path: null, close: () => client.close() };
  }
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  const path = join(folder, "jobs.db");
  const client = await connect(`sqlite:${path}`);
  const close = async (): Promise<void> => {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { client, path, close };
}

export function enqueue({ client }: Place, callers: number, jobs: number): Promise<number> {
  return rate(jobs, () => byCallers(callers, jobs, () => client.enqueue("bench", PAYLOAD)));
}

export async function fill({ client }: Place, jobs: number): Promise<void> {
  for (let done = 0; done < jobs; done += 10_000) {
    const count = Math.min(10_000, jobs - done);
    const results = await client.enqueueMany(Array.from({ length: count }, () => ({ type: "bench", payload: PAYLOAD })));
    const refused = results.find((result) => !result.ok);
    if (refused !== undefined) throw refused.error;
  }
}

export function enqueueBulk(place: Place, jobs: number): Promise<number> {
  return rate(jobs, () => fill(place, jobs));
}

/** Works off `jobs` waiting ones. The first tenth is not timed: start-up and compilation are not throughput. */
export async function drain({ client }: Place, slots: number, jobs: number): Promise<number> {
  const warm = Math.floor(jobs / 10);
  const finished = Promise.withResolvers<void>();
  let count = 0;
  let started = 0;
  const worker = client.work(
    {
      bench: async () => {
        count++;
        if (count === warm) started = performance.now();
        if (count === jobs) finished.resolve();
      },
    },
    { concurrency: slots },
  );
  await finished.promise;
  const seconds = (performance.now() - started) / 1000;
  await worker.stop();
  return (jobs - warm) / seconds;
}

/** Callers enqueue while as many slots work it off; timed until the last job has run. */
export async function both({ client }: Place, callers: number, jobs: number): Promise<number> {
  const finished = Promise.withResolvers<void>();
  let count = 0;
  const worker = client.work({ bench: async () => void (++count === jobs && finished.resolve()) }, { concurrency: 100 });
  const perSecond = await rate(jobs, () =>
    Promise.all([byCallers(callers, jobs, () => client.enqueue("bench", PAYLOAD)), finished.promise]),
  );
  await worker.stop();
  return perSecond;
}

/** From the call of enqueue on an idle queue to the start of the handler, in milliseconds. */
export async function pickUp({ client }: Place, samples: number): Promise<{ p50: number; p99: number }> {
  let arrived: (at: number) => void = () => {};
  const worker = client.work({ bench: async () => arrived(performance.now()) }, { concurrency: 10 });
  const times: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    const arrival = new Promise<number>((resolve) => (arrived = resolve));
    const started = performance.now();
    await client.enqueue("bench", PAYLOAD);
    times.push((await arrival) - started);
    await new Promise((resolve) => setTimeout(resolve, 5)); // idle again
  }
  await worker.stop();
  return { p50: percentileOf(times, 0.5), p99: percentileOf(times, 0.99) };
}

/** Bytes of the file for each of its jobs, once the WAL is folded into it. */
export function bytesPerJob({ path }: Place, jobs: number): number {
  const db = new DatabaseSync(path!);
  db.exec("pragma wal_checkpoint(truncate)");
  db.close();
  return statSync(path!).size / jobs;
}

export async function statsTime({ client }: Place, samples: number): Promise<number> {
  const times: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    const started = performance.now();
    await client.stats();
    times.push(performance.now() - started);
  }
  return percentileOf(times, 0.95);
}
