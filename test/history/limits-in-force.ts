import { decodeKeyLimits, decodeLimits, type KeyLimits, type QueueLimits } from "../../src/core/limits.ts";
import type { History } from "./history.ts";
import { happened, lastLine, mayHaveHappened, type Op } from "./story.ts";

/** The limits of a history. Where it is not sure which were in force, the loosest of those that may have been count. */
export class LimitsInForce {
  readonly #ofQueues = new Map<string, Op<"configure">[]>();
  readonly #ofKeys = new Map<string, Op<"limit-key">[]>();
  /** Queues whose head start was changed: their keys may stand by rank. */
  readonly #byRank = new Set<string>();

  constructor({ configures, keyLimits }: History) {
    for (const op of configures.filter(mayHaveHappened)) {
      if (op.ask.change.limits !== undefined) push(this.#ofQueues, op.ask.queue, op);
      if (op.ask.change.headStartMs !== undefined) this.#byRank.add(op.ask.queue);
    }
    for (const op of keyLimits.filter(mayHaveHappened)) push(this.#ofKeys, nameOf(op.ask.queue, op.ask.key), op);
  }

  /** Whether the queue ever had limits. */
  has(queue: string): boolean {
    return this.#ofQueues.has(queue);
  }

  /** Whether nothing but the turn lets a key of the queue wait for another, and all keys have the same weight. */
  hasPlainTurns(queue: string): boolean {
    const limitsOfKeys = (this.#ofQueues.get(queue) ?? []).map(({ ask }) => decodeLimits(ask.change.limits!).perKey);
    const isFree = limitsOfKeys.every(({ running, rate }) => running === null && rate === null);
    return isFree && !this.#byRank.has(queue) && [...this.#ofKeys.keys()].every((name) => !name.startsWith(nameOf(queue, null)));
  }

  /** How many leases a queue may have had at the most between these lines, or one of its keys. */
  running(queue: string, key: string | undefined, from: number, to: number): number {
    const ofQueue = candidates(this.#ofQueues.get(queue) ?? [], from, to).map((op) => decodeLimits(op?.ask.change.limits ?? null));
    if (key === undefined) return loosest(ofQueue.map(({ running }) => running));
    const own = candidates(this.#ofKeys.get(nameOf(queue, key)) ?? [], from, to).map((op) => decodeKeyLimits(op?.ask.limits ?? null));
    return loosest(own.flatMap((one) => ofQueue.map((limits) => ofKey(limits, one))));
  }
}

function ofKey({ perKey }: QueueLimits, { running = perKey.running }: KeyLimits): number | null {
  return running;
}

function loosest(limits: readonly (number | null)[]): number {
  return Math.max(...limits.map((limit) => limit ?? Infinity));
}

/** The changes of which one was in force at some moment between these lines; null: none was made yet. */
function candidates<Change extends Op<"configure"> | Op<"limit-key">>(
  changes: readonly Change[],
  from: number,
  to: number,
): (Change | null)[] {
  const last = changes.findLast((change) => happened(change) && lastLine(change) < from) ?? null;
  const since = last?.invoked.line ?? -1;
  return [last, ...changes.filter((change) => change !== last && change.invoked.line < to && lastLine(change) > since)];
}

function nameOf(queue: string, key: string | null): string {
  return `${queue} ${key ?? ""}`;
}

function push<Item>(lists: Map<string, Item[]>, name: string, item: Item): void {
  const known = lists.get(name);
  if (known === undefined) lists.set(name, [item]);
  else known.push(item);
}
