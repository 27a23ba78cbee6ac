import { queueBeside } from "./delivery.ts";

/** How many partitions there are. A partition takes ten bits of a job's id. */
export const PARTITIONS = 1024;

/** The constants of FNV-1a. */
export const FNV_START = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;

/**
 * The partition of a queue: FNV-1a of its name. Every id contains it, on every engine, so that Redis finds a job by its id alone and a job
 * keeps its id when it moves to another engine. So this must never change. A delivery queue has the partition of the queue it belongs to.
 */
export function partitionOf(queue: string): number {
  return partitionOfName(queueBeside(queue));
}

function partitionOfName(queue: string): number {
  let hash = FNV_START;
  for (let index = 0; index < queue.length; index++) hash = Math.imul(hash ^ queue.charCodeAt(index), FNV_PRIME);
  return ((hash >>> 22) ^ hash) & (PARTITIONS - 1);
}
