import { setTimeout as sleep } from "node:timers/promises";
import { admin, freshPrefix, type OwnRedisServer, startRedis } from "../../servers/redis.ts";
import type { Deed, Stage } from "../deed.ts";
import type { Place } from "./place.ts";
import { isRefused } from "./refusals.ts";
import { Wires } from "./wires.ts";

const SEEN_WITHIN_MS = 3_000;
const LOOK_MS = 20;

/** A Redis of our own. With a log that is on disk before it answers it loses nothing; without one, everything with its process. */
export async function redisPlace(appendOnly: "always" | null): Promise<Place> {
  const server = await startRedis(appendOnly === null ? {} : { appendOnly });
  const url = freshPrefix(server.url);
  const wires = new Wires(server.port, /evalsha/i);
  return {
    url,
    hasMachineTime: true,
    deeds: [
      ...wires.deeds,
      { what: "store killed", attempt: (stage) => killStore(server, stage) },
      { what: "scripts flushed", attempt: () => flushScripts(server) },
      { what: "connections ended by the store", attempt: () => endConnections(server) },
      memoryFull(server),
    ],
    untried: ["the time of the store stepped: it is the machine's, which is not ours to set"],
    reach: () => wires.lay(url),
    heal: async () => wires.heal(),
    async stop() {
      wires.close();
      await server.stop();
    },
  };
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
  return {
    what: "memory full",
    attempt: async (stage) => {
      const used = await admin(server.port, async (redis) => Number(/used_memory:(\d+)/.exec(await redis.info("memory"))?.[1]));
      await limit(used);
      try {
        const isDone = await isRefused(stage);
        await sleep(stage.random.int(100, 1_000));
        return isDone;
      } finally {
        await limit(0);
      }
    },
  };
}
