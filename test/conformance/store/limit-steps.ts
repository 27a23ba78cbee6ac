import { expect } from "vitest";
import type { Outcome } from "../../../src/core/lifecycle.ts";
import { type LimitOptions, type OneKeyLimitOptions, readLimits, readOneKeyLimits } from "../../../src/core/limits.ts";
import type { Claim, LeaseAnswer, LeasedRecord, LimitUse, Settlement } from "../../../src/store/store.ts";
import { claimOf, type Held, settlementOf, type World } from "../world.ts";

/** What tests of limits say of a store. */

export function setLimits(world: World, limits: LimitOptions | null, queue = "default"): Promise<void> {
  return world.store.configure(queue, { limits: readLimits(limits) });
}

/** The limits of one key; null: none of its own. */
export function setKey(world: World, key: string | null, own: OneKeyLimitOptions | null, queue = "default"): Promise<void> {
  return world.store.setKeyLimits(queue, key, own === null ? null : readOneKeyLimits(own, key));
}

export interface Claimed {
  readonly jobs: LeasedRecord[];
  readonly againInMs: number | null;
}

/** Claims, and tells when the next job may start. */
export async function claimAndAsk(world: World, wishes: Partial<Claim> = {}): Promise<Claimed> {
  const { claimed, againInMs } = await world.store.exchange([], [claimOf(wishes)]);
  return { jobs: claimed[0]!, againInMs: againInMs?.[0] ?? null };
}

/** Claims: exactly so many start. Where an engine returns places late, it asks until they do. */
export async function starts(world: World, count: number, wishes: Partial<Claim> = {}): Promise<LeasedRecord[]> {
  const started = await world.claim(wishes);
  while (world.engine.placesReturnLate !== undefined && started.length < count) {
    started.push(...(await world.claim({ ...wishes, limit: count - started.length })));
  }
  expect(started, "jobs that started").toHaveLength(count);
  return started;
}

/** Claims until this many have started. For what is committed by a transaction of the caller's own: that may take a moment on any engine. */
export async function startsSoon(world: World, count: number, wishes: Partial<Claim> = {}): Promise<LeasedRecord[]> {
  const started: LeasedRecord[] = [];
  while (started.length < count) started.push(...(await world.claim({ ...wishes, limit: count - started.length })));
  return started;
}

/** Nothing may start. */
export async function startsNothing(world: World, wishes: Partial<Claim> = {}): Promise<void> {
  expect(await world.claim(wishes), "jobs that started").toEqual([]);
}

/** Settles with what a settlement says of limits. */
export async function settleWith(
  world: World,
  held: Held,
  outcome: Outcome,
  said: Pick<Settlement, "unstarted" | "holdMs" | "spend">,
): Promise<LeaseAnswer> {
  const { settled } = await world.store.exchange([{ ...settlementOf(held, outcome), ...said }], []);
  return settled[0]!;
}

export const COMPLETED: Outcome = { kind: "completed", result: null, runMs: 5 };

/** Holds the key of a job, as HoldKey does. */
export function hold(world: World, held: Held, ms: number): Promise<LeaseAnswer> {
  return settleWith(world, held, { kind: "hold", delayMs: ms }, { holdMs: ms });
}

/** What a queue uses of its limits; the queue must be there. */
export async function useOf(world: World, keys: readonly string[] = [], queue = "default"): Promise<LimitUse> {
  const use = await world.store.limitUse(queue, keys);
  expect(use, `limits of ${queue}`).not.toBeNull();
  return use!;
}

/** How many leases a queue and its keys have: the queue first. */
export async function runningOf(world: World, keys: readonly string[] = [], queue = "default"): Promise<number[]> {
  const use = await useOf(world, keys, queue);
  return [use.running, ...use.keys.map(({ running }) => running)];
}

export const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);

/** How many of the jobs have each limit key. */
export function countByKey(jobs: readonly { readonly limitKey: string | null }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { limitKey } of jobs) counts[limitKey ?? "none"] = (counts[limitKey ?? "none"] ?? 0) + 1;
  return counts;
}
