import { createHash } from "node:crypto";

/** A Lua text and the digest by which servers know it. */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
  /** Which keys it declares: the two of its partition, or the one that it is about. */
  readonly keys: "partition" | "one";
}

/**
 * Joins parts to a script of a partition. Its first argument is the time, empty unless a test turns the clock.
 *
 * It declares two keys and derives all others from them: they share its hash tag. The first, v, is there as soon as the partition is in use;
 * the second, none, never is. So while a Cluster moves their slot from one node to another, key by key, either node has one of the two at
 * most, and answers TRYAGAIN to every script. Without that a script could find half of the partition.
 *
 * A script that meets a full memory is stopped by the server at its first writing command if that command may need memory, and at no later
 * one. So a script that must not be half done when memory is full simply begins with such a command (insert does), and one that has to go on
 * all the same begins with one that needs no memory (`ALWAYS`): ending a job must be possible when nothing else is.
 */
export function script(name: string, ...parts: readonly string[]): Script {
  return made(name, "partition", parts);
}

/** A script that is about one key beside the partitions. */
export function plainScript(name: string, ...parts: readonly string[]): Script {
  return made(name, "one", parts);
}

function made(name: string, keys: Script["keys"], parts: readonly string[]): Script {
  const text = parts.map((part) => part.trim()).join("\n");
  return { name, text, sha: createHash("sha1").update(text).digest("hex"), keys };
}

/** Must stand before the first write of scripts that are to work while memory is full. */
export const ALWAYS = `redis.call('DEL', KEYS[2])`;
