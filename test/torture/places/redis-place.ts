import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { admin, freshPrefix, type OwnRedisServer, startRedis } from "../../servers/redis.ts";
import { type Deed, type Stage, storeDeed } from "../deed.ts";
import { LOOP_BLOCKED } from "../strangers.ts";
import type { Place } from "./place.ts";
import { isRefused } from "./refusals.ts";
import { Wires } from "./wires.ts";

const SEEN_WITHIN_MS = 3_000;
const LOOK_MS = 20;

/** A Redis of our own. With a log that is on disk before it answers it loses nothing; without one, everything with its process. */
export async function redisPlace(appendOnly: "always" | null): Promise<Place> {
  const server = await startRedis(appendOnly === null ? {} : { appendOnly });
  const url = freshPrefix(server.url);
  const wires = new Wires(server.port, /evalsha/i, /evalsha/i);
  const prober = new Redis(server.port, "127.0.0.1", { lazyConnect: true, protocol: 2, maxRetriesPerRequest: 0, retryStrategy: () => 100 });
  prober.on("error", () => {});
  return {
    url,
    hasMachineTime: true,
    deeds: [
      ...wires.deeds,
      storeDeed("store killed", (stage) => killStore(server, stage)),
      storeDeed("scripts flushed", () => flushScripts(server)),
      storeDeed("connections ended by the store", () => endConnections(server)),
      storeDeed("writes paused", (stage) => pauseWrites(server, stage), { isLong: true }),
      storeDeed("busy with another's script", (stage) => runLong(server, stage), { isLong: true }),
      memoryFull(server),
    ],
    strangers: [LOOP_BLOCKED],
    untried: ["the time of the store stepped: it is the machine's, which is not ours to set"],
    reach: (process) => wires.lay(process, url),
    probe: async () => void (await prober.incr("torture-probe")),
    heal: async () => wires.heal(),
    async stop() {
      wires.close();
      prober.disconnect();
      await server.stop();
    },
  };
}

/** Reads are answered, writes wait, for longer than a worker waits for an answer. It took effect when somebody waits. */
async function pauseWrites(server: OwnRedisServer, { random }: Stage): Promise<boolean> {
  return admin(server.port, async (redis) => {
    const ms = random.int(6_000, 8_000);
    await redis.call("CLIENT", "PAUSE", String(ms), "WRITE");
    await sleep(ms - LOOK_MS);
    const waiting = Number(/blocked_clients:(\d+)/.exec(await redis.info("clients"))?.[1]);
    await sleep(2 * LOOK_MS);
    return waiting > 0;
  });
}

/** Nobody is served meanwhile; after five seconds the server says so. It took effect when it took its time. */
async function runLong(server: OwnRedisServer, { random }: Stage): Promise<boolean> {
  const ms = random.int(2_000, 7_000);
  const script = `local function now() local t = redis.call("TIME") return t[1] * 1000 + t[2] / 1000 end
    local till = now() + ARGV[1] while now() < till do end return 1`;
  const begunAt = performance.now();
  await admin(server.port, (redis) => redis.eval(script, 0, ms));
  return performance.now() - begunAt >= ms;
}

async function killStore(server: OwnRedisServer, { random }: Stage): Promise<boolean> {
  await server.kill();
  await sleep(random.int(0, 1_500));
  await server.restart();
  return true;
}

/** It has taken effect when a script was asked for that the server did not know any more. */
async function flushScripts(server: OwnRedisServer): Promise<boolean> {
  return admin(server.port, async (redis) => {
    const unknown = async (): Promise<number> => Number(/errorstat_NOSCRIPT:count=(\d+)/.exec(await redis.info("errorstats"))?.[1] ?? 0);
    const before = await unknown();
    await redis.script("FLUSH");
    for (let left = SEEN_WITHIN_MS; left > 0; left -= LOOK_MS) {
      if ((await unknown()) > before) return true;
      await sleep(LOOK_MS);
    }
    return false;
  });
}

function endConnections(server: OwnRedisServer): Promise<boolean> {
  return admin(server.port, async (redis) => {
    const end = async (kind: "NORMAL" | "PUBSUB"): Promise<number> =>
      Number(await redis.call("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"));
    return (await end("NORMAL")) + (await end("PUBSUB")) > 0;
  });
}

function memoryFull(server: OwnRedisServer): Deed {
  const limit = (bytes: number): Promise<unknown> => admin(server.port, (redis) => redis.config("SET", "maxmemory", bytes));
  return storeDeed("memory full", async (stage) => {
    const used = await admin(server.port, async (redis) => Number(/used_memory:(\d+)/.exec(await redis.info("memory"))?.[1]));
    await limit(used);
    try {
      const isDone = await isRefused(stage);
      await sleep(stage.random.int(100, 1_000));
      return isDone;
    } finally {
      await limit(0);
    }
  });
}
