import { MillraceError } from "../../core/errors.ts";
import type { EarlyHints } from "../early-hints.ts";
import type { EvictionWatch } from "./requirements.ts";
import type { Keys } from "./keys.ts";
import type { Session } from "./session.ts";
import type { Reach } from "./reach.ts";
import type { RedisFeed } from "./feed.ts";
import type { QueueRegistry } from "./queues.ts";

/** What every verb works with. */
export interface Context {
  readonly session: Session;
  readonly keys: Keys;
  readonly feed: RedisFeed;
  readonly earlyHints: EarlyHints;
  readonly eviction: EvictionWatch;
  readonly registry: QueueRegistry;
  readonly reach: Reach;
}

/** More items than this go in several calls: a script blocks the server, so it may run only some milliseconds. */
export const MOST_PER_SCRIPT = 250;
/**
 * The same for settlements and for jobs of a claim. A worker with 1,000 slots exchanges 500 at a time: in two calls, one after the other, the
 * server would wait for the worker and the worker for the server. And the claim of another exchange could come between them.
 */
export const MOST_PER_EXCHANGE = 500;

export function chunksOf<Item>(items: readonly Item[], size: number = MOST_PER_SCRIPT): (readonly Item[])[] {
  if (items.length <= size) return items.length === 0 ? [] : [items];
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
}

/** Waits for a call that may be left out while memory is full. */
export async function unlessFull(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== "store_full") throw error;
  }
}

/** Calls `run` with the items of each partition, in order, and returns the answers in the order of the items. */
export async function byPartition<Item, Answer>(
  items: readonly Item[],
  partitionOf: (item: Item) => number,
  run: (partition: number, items: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = Array.from({ length: items.length });
  const groups = new Map<number, number[]>();
  items.forEach((item, index) => {
    const partition = partitionOf(item);
    const group = groups.get(partition);
    if (group === undefined) groups.set(partition, [index]);
    else group.push(index);
  });
  const calls = [...groups].flatMap(([partition, places]) =>
    chunksOf(places).map(async (chunk) => {
      const some = await run(
        partition,
        chunk.map((place) => items[place]!),
      );
      chunk.forEach((place, index) => (answers[place] = some[index]!));
    }),
  );
  await Promise.all(calls);
  return answers;
}

/** The same, but items whose partition cannot be reached get this answer instead, unless none can. */
export async function byReachedPartition<Item, Answer>(
  { reach }: Context,
  verb: string,
  items: readonly Item[],
  partitionOf: (item: Item) => number,
  run: (partition: number, items: readonly Item[]) => Promise<readonly Answer[]>,
  otherwise: Answer,
): Promise<Answer[]> {
  const groups = Map.groupBy(items.keys(), (place) => partitionOf(items[place]!));
  const partitions = [...groups.keys()];
  const itemsOf = (partition: number): Item[] => groups.get(partition)!.map((place) => items[place]!);
  if (partitions.length === 1) return byPartition(items, partitionOf, run);
  const { answers } = await reach.ask(verb, partitions, (partition) => byPartition(itemsOf(partition), () => partition, run));
  const all: Answer[] = items.map(() => otherwise);
  for (const [index, partition] of partitions.entries()) {
    answers[index]?.forEach((answer, at) => (all[groups.get(partition)![at]!] = answer));
  }
  return all;
}
