import type { Redis } from "ioredis";
import { KEY_LINE, LIMIT_KEY } from "../../../../src/store/redis/layout.ts";

/** All keys under a prefix, with what they hold. */
export async function contentsOf(redis: Redis, prefix: string): Promise<Record<string, unknown>> {
  const read = {
    hash: async (key: string) => Object.fromEntries(Object.entries(await redis.hgetallBuffer(key)).map(([k, v]) => [k, v.toString("hex")])),
    zset: async (key: string) =>
      ((await redis.callBuffer("ZRANGE", key, "0", "-1", "WITHSCORES")) as Buffer[]).map((part) => part.toString("hex")),
    set: async (key: string) => (await redis.smembers(key)).toSorted(),
    list: async (key: string) => (await redis.lrangeBuffer(key, 0, -1)).map((entry) => entry.toString("hex")),
    string: async (key: string) => {
      const text = (await redis.getBuffer(key))!;
      return key.includes(":lk:") ? inOrder(text) : text.toString("hex");
    },
  };
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const entries = keys.map(async (key) => [key.slice(prefix.length), await read[(await redis.type(key)) as keyof typeof read](key)]);
  return Object.fromEntries(await Promise.all(entries)) as Record<string, unknown>;
}

/** What is stored of a limit key. Its lines have no order. */
function inOrder(text: Buffer): readonly string[] {
  const lines: string[] = [];
  for (let at = LIMIT_KEY.bytes; at < text.length; at += KEY_LINE.bytes) lines.push(text.toString("hex", at, at + KEY_LINE.bytes));
  return [text.toString("hex", 0, LIMIT_KEY.bytes), ...lines.toSorted()];
}
