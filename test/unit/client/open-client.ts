import { onTestFinished } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { clientOver, type ClientOverOptions } from "../../../src/assembly/client-over.ts";
import type { Event } from "../../../src/core/event.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

export const START = Date.UTC(2030, 0, 1);

export interface Opened {
  readonly client: Client;
  readonly store: Store;
  readonly clock: VirtualClock;
}

type OpenOptions = Partial<ClientOverOptions> & {
  readonly prepare?: (store: Store) => void;
  /** How far the clock of the client is ahead of that of the store. Default 0. */
  readonly clientAheadMs?: number;
};

/** A client over a memory store that the test can reach and change, with a clock turned by hand. Closed when the test ends. */
export async function openClient(options: OpenOptions = {}): Promise<Opened> {
  const clock = new VirtualClock(START);
  const store = await openStore("memory:", { clock });
  const { prepare, clientAheadMs = 0, ...rest } = options;
  prepare?.(store);
  const ownClock: Clock = {
    now: () => clock.now() + clientAheadMs,
    monotonic: () => clock.monotonic(),
    setTimer: (callback, ms) => clock.setTimer(callback, ms),
  };
  const client = clientOver(store, { clock: ownClock, random: () => 0.5, ...rest });
  onTestFinished(async () => {
    const closing = client.close();
    await clock.advance("1m");
    await closing;
  });
  return { client, store, clock };
}

/** Notes the arguments of each call of a verb, and lets it through. */
export function spyOn<Verb extends "insert" | "find" | "change" | "publish" | "exchange" | "counters" | "note">(
  store: Store,
  verb: Verb,
): Parameters<Store[Verb]>[] {
  const calls: Parameters<Store[Verb]>[] = [];
  const original = store[verb].bind(store) as (...args: unknown[]) => unknown;
  Object.assign(store, {
    [verb]: (...args: Parameters<Store[Verb]>) => {
      calls.push(args);
      return original(...args);
    },
  });
  return calls;
}

/** What is announced from now on. */
export function listenTo(store: Store): Event[] {
  const heard: Event[] = [];
  onTestFinished(store.listen((events) => heard.push(...events)));
  return heard;
}

/** Claims jobs of the default queue, as a worker does. */
export async function claim(client: Client, limit = 10, queue = "default"): ReturnType<Client["leases"]["exchange"]> {
  return client.leases.exchange([], { workerId: "w1", queues: [queue], types: "*", limit, leaseMs: 30_000, turn: 1, again: false });
}

/** Claims one job and has its attempt fail for good. */
export async function die(client: Client, queue = "default"): Promise<string> {
  const { jobs } = await claim(client, 1, queue);
  const { job, fence, facts } = jobs[0]!;
  const error = { name: "Error", message: "boom", stack: null, kind: "error" } as const;
  await client.leases.exchange([{ id: job.id, fence, facts, outcome: { kind: "discard", error, runMs: 1 } }], null);
  return job.id;
}

export const MISSING_ID = "0190d2f0-7b1a-7abc-8def-0123456789ab";

/** What a call ends with, its answer or its error, for a test that must do something before it does. */
export function endOf<Answer>(call: Promise<Answer>): Promise<unknown> {
  return call.catch((error: unknown) => error);
}
