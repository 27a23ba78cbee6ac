import { randomBytes } from "node:crypto";
import type { NewJob } from "../../../../src/core/job.ts";
import { type Outcome, settle } from "../../../../src/core/lifecycle.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import { freshPrefix } from "../../../servers/redis.ts";
import type { Claim, LeasedRecord, Settlement, Store } from "../../../../src/store/store.ts";

const nextId = idMaker(() => Date.now());

/** A job as it comes to a store. */
export function jobOf(wishes: Partial<NewJob> = {}): NewJob {
  const { queue = "default", idempotencyKey = null } = wishes;
  return {
    id: nextId(partitionOf(queue)),
    type: "task",
    queue,
    priority: 0,
    payload: "null",
    maxRetries: 3,
    maxLost: 3,
    retryDelayMs: 1000,
    backoff: "exponential",
    timeoutMs: 30_000,
    delayMs: 0,
    runAt: null,
    idempotencyKey,
    keyTtlMs: 86_400_000,
    fingerprint: idempotencyKey === null ? null : (wishes.payload ?? "same"),
    webhookUrl: null,
    tags: [],
    meta: null,
    facets: null,
    limitKey: null,
    cost: 1,
    ...wishes,
  };
}

/** The same job with an id of another bucket: ten jobs in a row are in one of five. */
export function elsewhere(job: NewJob, index: number): NewJob {
  return { ...job, id: `${job.id.slice(0, 25)}00${Math.floor(index / 10) % 5}${job.id.slice(28)}` };
}

let turn = 0;

export function claimOf(change: Partial<Claim> = {}): Claim {
  return {
    workerId: "w",
    queues: ["default"],
    types: "*",
    limit: 100,
    leaseMs: 30_000,
    turn: ++turn,
    again: false,
    local: false,
    ...change,
  };
}

export async function claim(store: Store, change: Partial<Claim> = {}): Promise<LeasedRecord[]> {
  return (await store.exchange([], [claimOf(change)])).claimed[0]!;
}

export function settlementOf(lease: LeasedRecord, outcome: Outcome): Settlement {
  const transition = settle(lease, outcome, { deadLetters: true }, 0.5);
  return { id: lease.id, fence: lease.fence, outcome: outcome.kind, transition, ifExpired: false };
}

export const DONE: Outcome = { kind: "completed", result: '"done"', runMs: 1 };

/** A store under a prefix of its own. */
export function openAt(url: string, deadlineMs = 10_000): Promise<Store> {
  return openRedisStore(freshPrefix(url), { clock: systemClock, deadlineMs });
}

export function prefix(): string {
  return `t-${randomBytes(6).toString("hex")}`;
}
