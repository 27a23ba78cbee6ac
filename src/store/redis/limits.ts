/** The limits of keys, and how much of them is used. statements/take.ts applies them. */
import { partitionOf } from "../../core/partition.ts";
import type { RateState } from "../../core/rate.ts";
import type { KeyLimitsRecord, KeyUse, LimitUse } from "../store.ts";
import { listOf, numberOf, type Reply, textOf } from "./codec.ts";
import { chunksOf, type Context } from "./context.ts";
import { longId } from "./ids.ts";
import { BUSIEST, LIMIT_USE, LIST_KEY_LIMITS, SET_KEY_LIMITS } from "./statements/key-limits.ts";

export async function setKeyLimits(
  { session, keys, feed, registry }: Context,
  queue: string,
  key: string | null,
  limits: string | null,
): Promise<void> {
  const call = (registered: string): Promise<Reply> =>
    session.run(SET_KEY_LIMITS, keys.partition(partitionOf(queue)), [queue, registered, key ?? "", limits ?? ""]);
  await registry.callRegistered(call, () => [queue]);
  feed.sendHint({ topic: "queues" });
}

export async function listKeyLimits(
  { session, keys }: Context,
  queue: string,
  after: string | null | undefined,
  limit: number,
): Promise<KeyLimitsRecord[]> {
  const place = after === undefined ? "" : after === null ? "n" : `k${after}`;
  const list = listOf(await session.run(LIST_KEY_LIMITS, keys.partition(partitionOf(queue)), [queue, place, String(limit)]));
  return Array.from({ length: list.length / 2 }, (_, index) => {
    const key = textOf(list[2 * index]);
    return { key: key === "" ? null : key, limits: textOf(list[2 * index + 1]) };
  });
}

export async function limitUse({ session, keys }: Context, queue: string, names: readonly string[]): Promise<LimitUse | null> {
  const stretches = names.length === 0 ? [[]] : chunksOf(names);
  const calls = stretches.map((some) => session.run(LIMIT_USE, keys.partition(partitionOf(queue)), [queue, ...some]));
  const replies = await Promise.all(calls);
  const last = replies.at(-1);
  if (last === null || last === undefined) return null;
  const [now, running, rate] = listOf(last);
  const uses = replies.flatMap((reply) => (reply === null ? [] : listOf(listOf(reply)[3])));
  const at = numberOf(now);
  return { now: at, running: numberOf(running), rate: readRate(rate), keys: uses.map((use, index) => readUse(names[index]!, use, at)) };
}

export async function busiestKeys(context: Context, queue: string, limit: number): Promise<KeyUse[]> {
  const { session, keys } = context;
  const names = listOf(await session.run(BUSIEST, keys.partition(partitionOf(queue)), [queue, String(limit)])).map(textOf);
  const use = names.length === 0 ? null : await limitUse(context, queue, names);
  return (use?.keys ?? []).filter(({ running, waiting }) => running + waiting > 0);
}

function readUse(key: string, reply: Reply, now: number): KeyUse {
  const [running, waiting, held, rate, limits, ...holders] = listOf(reply);
  const heldUntil = numberOf(held);
  const own = textOf(limits);
  return {
    key,
    running: numberOf(running),
    waiting: numberOf(waiting),
    heldUntil: heldUntil > now ? heldUntil : null,
    rate: readRate(rate),
    holders: holders.map((id) => longId(id as Buffer)),
    limits: own === "" ? null : own,
  };
}

function readRate(reply: Reply | undefined): RateState | null {
  const text = textOf(reply);
  if (text === "") return null;
  const [busyUntil, intervalMs] = text.split(" ").map(Number) as [number, number];
  return { busyUntil, intervalMs };
}
