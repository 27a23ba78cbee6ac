import { beforeEach, describe, expect, test } from "vitest";
import type { Client, Context } from "../../../src/client/client.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import type { LeaseAnswer, Store } from "../../../src/store/store.ts";
import type { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { openClient } from "../client/open-client.ts";

/** One extension of the job's lease: when, by the clock since the start, and for how long. */
type Extension = readonly [atMs: number, leaseMs: number];

describe("a handler that asks that its lease is left alone", () => {
  let clock: VirtualClock;
  let store: Store;
  let client: Client;
  let extensions: Extension[];
  /** Set to answer an extension in place of the store, or to throw. */
  let answer: (() => LeaseAnswer) | null;
  let end: PromiseWithResolvers<void>;

  beforeEach(async () => {
    ({ client, store, clock } = await openClient({ onTrouble: () => {} }));
    extensions = [];
    answer = null;
    end = Promise.withResolvers();
    const extend = store.extend.bind(store);
    store.extend = async (leases) => {
      extensions.push(...leases.map(({ leaseMs }): Extension => [clock.monotonic(), leaseMs]));
      return answer === null ? extend(leases) : leases.map(answer);
    };
  });

  /** Starts one job; its handler goes on until `end`. */
  async function start(handler: (ctx: Context) => Promise<unknown>): Promise<string> {
    const { id } = await client.enqueue("t", null, { maxRetries: 0, timeout: 0 });
    client.work({ t: (_payload, ctx) => handler(ctx).then(() => end.promise) });
    await clock.settle();
    return id;
  }

  const codeOf = (error: unknown): unknown => (error as MillraceError).code;

  test("has it extended once, left alone meanwhile, and renewed from then on", async () => {
    await start((ctx) => ctx.holdLease("1m"));
    await clock.advance("59s");
    expect(extensions).toEqual([[0, 90_000]]);
    await clock.advance("10s");
    expect(extensions.slice(1).every(([, leaseMs]) => leaseMs === 30_000)).toBe(true);
    expect(extensions.length).toBeGreaterThan(1);
  });

  test.each([
    ["the store is away", "store_unavailable", () => unavailable()],
    ["another transaction holds the job", "store_unavailable", () => "locked" as const],
  ])("is told when %s, and its lease is renewed as before", async (_name, code, trouble) => {
    let refusal: unknown;
    const id = await start(async (ctx) => {
      answer = trouble;
      refusal = await ctx.holdLease("1m").catch((error: unknown) => error);
      answer = null;
    });
    expect(codeOf(refusal)).toBe(code);
    await clock.advance("2m");
    expect(extensions.length).toBeGreaterThan(10);
    expect(await client.get(id)).toMatchObject({ status: "running", attempt: 1, lostCount: 0 });
  });

  test("hears of the loss of a lease that could not be extended, though it caught the error", async () => {
    let signal: AbortSignal | null = null;
    await start(async (ctx) => {
      ({ signal } = ctx);
      answer = unavailable;
      await ctx.holdLease("1m").catch(() => {});
    });
    await clock.advance("1m");
    expect(signal!.reason).toMatchObject({ why: "lost" });
  });

  test("keeps what an earlier call has given it when a later one fails", async () => {
    await start(async (ctx) => {
      await ctx.holdLease("1m");
      answer = unavailable;
      await ctx.holdLease("10m").catch(() => {});
      answer = null;
    });
    await clock.advance("59s");
    expect(extensions.map(([, leaseMs]) => leaseMs)).toEqual([90_000, 630_000]);
  });

  test("has it left alone also after a completion that failed, so that it can repeat its transaction", async () => {
    await start(async (ctx) => {
      await ctx.holdLease("1m");
      await expect(ctx.complete("done", { tx: {} })).rejects.toMatchObject({ code: "invalid_transaction" });
    });
    await clock.advance("59s");
    expect(extensions).toEqual([[0, 90_000]]);
    await clock.advance("10s");
    expect(extensions.length).toBeGreaterThan(1);
  });

  /** A transaction that takes the completion and is rolled back leaves nothing behind. */
  async function completeAndRollBack(ctx: Context): Promise<void> {
    store.within = () => ({ insert: async () => [], settle: async () => ["ok"], note: async () => [] });
    await ctx.complete("done", { tx: {} });
  }

  test("has it left alone also after a completion that was rolled back", async () => {
    const id = await start(async (ctx) => {
      await ctx.holdLease("1m");
      await completeAndRollBack(ctx);
    });
    await clock.advance("59s");
    expect(extensions).toEqual([[0, 90_000]]);
    await clock.advance("2m");
    expect(extensions.length).toBeGreaterThan(10);
    expect(await client.get(id)).toMatchObject({ status: "running", attempt: 1, lostCount: 0 });
  });

  test("may ask again after a completion that was rolled back", async () => {
    const id = await start(async (ctx) => {
      await completeAndRollBack(ctx);
      await ctx.holdLease("1m");
    });
    await clock.advance("59s");
    expect(extensions).toEqual([[0, 90_000]]);
    await clock.advance("2m");
    expect(await client.get(id)).toMatchObject({ status: "running", attempt: 1, lostCount: 0 });
  });

  test("has its lease renewed again from its end until the report has arrived", async () => {
    const exchange = store.exchange.bind(store);
    let isAway = false;
    store.exchange = async (...args) => {
      if (isAway && args[0].length > 0) return unavailable();
      return exchange(...args);
    };
    const id = await start((ctx) => ctx.holdLease("1m"));
    isAway = true;
    end.resolve();
    await clock.advance("5m");
    isAway = false;
    await clock.advance("10s");
    expect(await client.get(id)).toMatchObject({ status: "completed", attempt: 1 });
  });

  test("is refused more than an hour less the lease of its worker: renewals would come too late", async () => {
    let refusal: unknown;
    await start(async (ctx) => {
      refusal = await ctx.holdLease("1h").catch((error: unknown) => error);
      await ctx.holdLease("3570s");
    });
    expect(refusal).toMatchObject({
      code: "invalid_input",
      field: "time",
      message: expect.stringContaining("from 1s to 1h less the worker's lease of 30s") as string,
    });
    expect(extensions).toEqual([[0, 3_600_000]]);
  });
});

function unavailable(): never {
  throw new MillraceError("store_unavailable", "away");
}
