import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BareSqlite } from "./bare-sqlite.ts";
import { openPlainjob } from "./plainjob.ts";
import * as product from "./product.ts";
import type { Figure } from "./report.ts";
import { rate } from "./workload.ts";

/** What a bare loop of prepared statements reaches on this machine, in this minute. */
interface Limits {
  readonly insertOne: number;
  readonly insertHundred: number;
  readonly insertThousand: number;
  readonly drainTen: number;
  readonly drainHundred: number;
}

export async function benchSqlite(scale: number, withPeers: boolean): Promise<Figure[]> {
  const limits = await inFolder((folder) => measureLimits(folder, scale));
  const peer = withPeers ? await inFolder((folder) => measurePlainjob(folder, scale)) : null;
  return [
    ...(await enqueueFigures(limits, peer, scale)),
    ...(await drainFigures(limits, peer, scale)),
    ...(await sizeFigures(scale)),
    ...(await depthFigures(scale)),
  ];
}

async function enqueueFigures(limits: Limits, peer: Peer | null, scale: number): Promise<Figure[]> {
  const one = await onFreshFile((place) => product.enqueue(place, 1, Math.round(2000 * scale)));
  const hundred = await onFreshFile(async (place) => {
    await product.enqueue(place, 100, Math.round(10_000 * scale)); // compiled, as the bare loop is
    return product.enqueue(place, 100, Math.round(100_000 * scale));
  });
  const bulk = await onFreshFile((place) => product.enqueueBulk(place, Math.round(200_000 * scale)));
  const figures: Figure[] = [
    {
      engine: "sqlite",
      what: "enqueue, 1 caller",
      value: one,
      unit: "jobs/s",
      beside: { what: "bare, one a commit", value: limits.insertOne },
    },
    {
      engine: "sqlite",
      what: "enqueue, 100 callers",
      value: hundred,
      unit: "jobs/s",
      beside: { what: "bare, 100 a commit", value: limits.insertHundred },
      atLeast: 0.6,
    },
    {
      engine: "sqlite",
      what: "enqueueMany",
      value: bulk,
      unit: "jobs/s",
      beside: { what: "bare, 1,000 a commit", value: limits.insertThousand },
    },
  ];
  if (peer !== null) {
    figures.push({
      engine: "sqlite",
      what: "enqueue, 100 callers",
      value: hundred,
      unit: "jobs/s",
      beside: { what: "plainjob", value: peer.add },
      atLeast: 2.3,
    });
  }
  return figures;
}

async function drainFigures(limits: Limits, peer: Peer | null, scale: number): Promise<Figure[]> {
  const ten = await drainOf(10, Math.round(30_000 * scale));
  const hundred = await drainOf(100, Math.round(100_000 * scale));
  const both = await onFreshFile((place) => product.both(place, 100, Math.round(50_000 * scale)));
  const latency = await onFreshFile((place) => product.pickUp(place, Math.round(300 * scale)));
  const figures: Figure[] = [
    {
      engine: "sqlite",
      what: "drain, 10 slots",
      value: ten,
      unit: "jobs/s",
      beside: { what: "bare, 10 a commit", value: limits.drainTen },
    },
    {
      engine: "sqlite",
      what: "drain, 100 slots",
      value: hundred,
      unit: "jobs/s",
      beside: { what: "bare, 100 a commit", value: limits.drainHundred },
      atLeast: 0.6,
    },
    { engine: "sqlite", what: "enqueue and drain at once", value: both, unit: "jobs/s" },
    {
      engine: "sqlite",
      what: "pick-up from idle, p50",
      value: latency.p50,
      unit: "ms",
      beside: { what: "bare commit", value: 1000 / limits.insertOne },
    },
    { engine: "sqlite", what: "pick-up from idle, p99", value: latency.p99, unit: "ms" },
  ];
  if (peer !== null) {
    figures.push({
      engine: "sqlite",
      what: "drain, 100 slots",
      value: hundred,
      unit: "jobs/s",
      beside: { what: "plainjob", value: peer.drain },
      atLeast: 3.7,
    });
  }
  return figures;
}

/** Finished and waiting jobs must not slow a claim, nor `stats`. */
async function depthFigures(scale: number): Promise<Figure[]> {
  const drained = Math.round(20_000 * scale);
  const deep = Math.round(1_000_000 * scale);
  const shallow = await onFreshFile(async (place) => {
    await product.fill(place, drained);
    return product.drain(place, 100, Math.min(drained, 10_000));
  });
  const figures = await onFreshFile(async (place) => {
    await product.fill(place, deep);
    const rate = await product.drain(place, 100, drained);
    const stats = await product.statsTime(place, 50);
    return { rate, stats };
  });
  return [
    {
      engine: "sqlite",
      what: `drain with ${deep.toLocaleString("en-US")} waiting`,
      value: figures.rate,
      unit: "jobs/s",
      beside: { what: "with 10,000", value: shallow },
      atLeast: 0.85,
    },
    { engine: "sqlite", what: `stats with ${deep.toLocaleString("en-US")} stored, p95`, value: figures.stats, unit: "ms" },
  ];
}

async function sizeFigures(scale: number): Promise<Figure[]> {
  const jobs = Math.round(50_000 * scale);
  return onFreshFile(async (place) => {
    await product.fill(place, jobs);
    const waiting = product.bytesPerJob(place, jobs);
    await product.drain(place, 100, jobs);
    return [
      { engine: "sqlite", what: "a waiting job", value: waiting, unit: "bytes" },
      { engine: "sqlite", what: "a finished job", value: product.bytesPerJob(place, jobs), unit: "bytes" },
    ] as const;
  });
}

async function drainOf(slots: number, jobs: number): Promise<number> {
  return onFreshFile(async (place) => {
    await product.fill(place, jobs);
    return product.drain(place, slots, jobs);
  });
}

async function onFreshFile<Answer>(run: (place: product.Place) => Promise<Answer>): Promise<Answer> {
  const place = await product.openPlace("sqlite");
  try {
    return await run(place);
  } finally {
    await place.close();
  }
}

async function inFolder<Answer>(run: (folder: string) => Promise<Answer>): Promise<Answer> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  try {
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureLimits(folder: string, scale: number): Promise<Limits> {
  const at = (jobs: number): number => Math.round((jobs * scale) / 1000) * 1000 || 1000;
  const bare = (name: string): BareSqlite => new BareSqlite(join(folder, `${name}.db`));
  const insert = (name: string, jobs: number, batch: number): Promise<number> => rate(jobs, async () => bare(name).insert(jobs, batch));
  const drain = async (name: string, jobs: number, batch: number): Promise<number> => {
    const file = bare(name);
    file.insert(jobs, 1000);
    const perSecond = await rate(jobs, async () => file.drain(jobs, batch));
    file.close();
    return perSecond;
  };
  return {
    insertOne: await insert("one", at(2000), 1),
    insertHundred: await insert("hundred", at(100_000), 100),
    insertThousand: await insert("thousand", at(200_000), 1000),
    drainTen: await drain("drain-ten", at(30_000), 10),
    drainHundred: await drain("drain-hundred", at(100_000), 100),
  };
}

interface Peer {
  readonly add: number;
  readonly drain: number;
}

async function measurePlainjob(folder: string, scale: number): Promise<Peer> {
  const jobs = Math.round(50_000 * scale);
  const peer = await openPlainjob(join(folder, "plainjob.db"));
  const add = await rate(jobs, async () => {
    for (let index = 0; index < jobs; index++) peer.add();
  });
  const drain = await rate(jobs, () => peer.drain(jobs));
  peer.close();
  return { add, drain };
}
