import { createHash } from "node:crypto";

/** A Lua text and its digest, by which servers know it. */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
  /** Which keys it declares: two of its partition, or the single one that it uses. */
  readonly keys: "partition" | "one";
}

/**
 * Joins parts to a script of a partition. Its first argument is the time, empty except in tests with their own clock.
 *
 * It declares two keys and derives all others from them, with the same hash tag. The first, v, exists once the partition is in use; the
 * second, none, never exists. So while a Cluster moves their slot from one node to another, key by key, each node has at most one of the
 * two and answers TRYAGAIN to every script. Otherwise a script could find half of the partition.
 *
 * If memory is full, the server stops a script at its first write if that command may need memory, and at no later one. So a script that
 * must not be half done begins with such a command (insert does), and one that must work anyway begins with one that needs no memory
 * (`ALWAYS`): ending a job must be possible when nothing else is.
 */
export function script(name: string, ...parts: readonly string[]): Script {
  return made(name, "partition", parts);
}

/** A script for one key outside the partitions. */
export function plainScript(name: string, ...parts: readonly string[]): Script {
  return made(name, "one", parts);
}

function made(name: string, keys: Script["keys"], parts: readonly string[]): Script {
  const text = parts.map((part) => part.trim()).join("\n");
  return { name, text, sha: createHash("sha1").update(text).digest("hex"), keys };
}

/** Must come before the first write of scripts that have to work while memory is full. */
export const ALWAYS = `redis.call('DEL', KEYS[2])`;
