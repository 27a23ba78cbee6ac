import type { Redis } from "ioredis";

/** All keys under a prefix, with what they hold. */
export async function contentsOf(redis: Redis, prefix: string): Promise<Record<string, unknown>> {
  const read = {
    hash: async (key: string) => Object.fromEntries(Object.entries(await redis.hgetallBuffer(key)).map(([k, v]) => [k, v.toString("hex")])),
    zset: async (key: string) =>
      ((await redis.callBuffer("ZRANGE", key, "0", "-1", "WITHSCORES")) as Buffer[]).map((part) => part.toString("hex")),
    set: async (key: string) => (await redis.smembers(key)).toSorted(),
    list: async (key: string) => (await redis.lrangeBuffer(key, 0, -1)).map((entry) => entry.toString("hex")),
    string: (key: string) => redis.get(key),
  };
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const entries = keys.map(async (key) => [key.slice(prefix.length), await read[(await redis.type(key)) as keyof typeof read](key)]);
  return Object.fromEntries(await Promise.all(entries)) as Record<string, unknown>;
}
