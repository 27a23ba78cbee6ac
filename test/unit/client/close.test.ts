import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import type { Store } from "../../../src/store/store.ts";
import { MISSING_ID, openClient } from "./open-client.ts";

/** Every call that a client answers with a promise. */
const CALLS: Record<string, (client: Client) => Promise<unknown>> = {
  enqueue: (client) => client.enqueue("t"),
  enqueueMany: (client) => client.enqueueMany([]),
  get: (client) => client.get(MISSING_ID),
  list: (client) => client.list(),
  attempts: (client) => client.attempts(MISSING_ID),
  changes: (client) => client.changes(MISSING_ID),
  audit: (client) => client.audit(),
  logs: (client) => client.logs(MISSING_ID),
  wait: (client) => client.wait(MISSING_ID),
  cancel: (client) => client.cancel(MISSING_ID),
  retry: (client) => client.retry(MISSING_ID),
  remove: (client) => client.remove(MISSING_ID),
  stats: (client) => client.stats(),
  queues: (client) => client.queues(),
  configure: (client) => client.configure("q", {}),
  pause: (client) => client.pause("q"),
  resume: (client) => client.resume("q"),
  workers: (client) => client.workers(),
  formerWorkers: (client) => client.formerWorkers(),
  "dead.list": (client) => client.dead.list(),
  "dead.retry": (client) => client.dead.retry(),
  "dead.purge": (client) => client.dead.purge(),
  "schedules.create": (client) => client.schedules.create({ name: "n", type: "t", every: "1m" }),
  "schedules.upsert": (client) => client.schedules.upsert({ name: "n", type: "t", every: "1m" }),
  "schedules.get": (client) => client.schedules.get("n"),
  "schedules.list": (client) => client.schedules.list(),
  "schedules.remove": (client) => client.schedules.remove("n"),
  "schedules.pause": (client) => client.schedules.pause("n"),
  "schedules.resume": (client) => client.schedules.resume("n"),
  "schedules.run": (client) => client.schedules.run("n"),
  "schedules.preview": (client) => client.schedules.preview({ every: "1m" }),
  "leases.exchange": (client) => client.leases.exchange([], null),
  "leases.extend": (client) => client.leases.extend([], 1000),
  "leases.note": (client) => client.leases.note([]),
  "leases.settleWithin": (client) => client.leases.settleWithin({}, { id: MISSING_ID, fence: 1, outcome: { kind: "release" } }),
  "leases.register": (client) => client.leases.register({} as never, 1000),
  "leases.unregister": (client) => client.leases.unregister("w"),
};

describe("a closed client", () => {
  test.each(Object.keys(CALLS))("refuses %s with the code closed", async (name) => {
    const { client } = await openClient();
    await client.close();
    await expect(CALLS[name]!(client)).rejects.toMatchObject({ name: "MillraceError", code: "closed" });
  });

  test("throws from what answers without a promise", async () => {
    const { client } = await openClient();
    await client.close();
    const closed = expect.objectContaining({ code: "closed" }) as Error;
    expect(() => client.events()).toThrow(closed);
    expect(() => client.work({ t: async () => {} })).toThrow(closed);
    expect(() => client.leases.watch(() => {})).toThrow(closed);
  });
});

describe("close", () => {
  test("may be called twice, and with `await using`", async () => {
    const { client, store } = await openClient();
    let closings = 0;
    const close = store.close.bind(store);
    store.close = () => {
      closings++;
      return close();
    };
    await Promise.all([client.close(), client.close()]);
    await client[Symbol.asyncDispose]();
    expect(closings).toBe(1);
  });

  test("answers the calls that were accepted before it", async () => {
    const { client } = await openClient();
    const calls = [client.enqueue("a"), client.enqueue("b", null, { idempotencyKey: "k" }), client.get(MISSING_ID)];
    await client.close();
    expect(await Promise.allSettled(calls)).toMatchObject([{ status: "fulfilled" }, { status: "fulfilled" }, { status: "fulfilled" }]);
  });

  test("lets running handlers finish, and what they still ask for", async () => {
    const { client, clock } = await openClient();
    let go: () => void = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    let followUp: boolean | null = null;
    client.work({
      t: async () => {
        await gate;
        followUp = (await client.enqueue("next")).created;
      },
    });
    await client.enqueue("t");
    await clock.settle();
    const closing = client.close();
    expect(() => client.work({ x: async () => {} })).toThrow(expect.objectContaining({ code: "closed" }) as Error);
    go();
    await clock.settle();
    await closing;
    expect(followUp).toBe(true);
  });

  test("gives back what does not end within the grace", async () => {
    const { client, store, clock } = await openClient();
    store.close = async () => {}; // so that the test can look afterwards
    client.work({ t: () => new Promise(() => {}) }, { grace: "10s" });
    const { id } = await client.enqueue("t");
    await clock.settle();
    const closing = client.close();
    await clock.advance("10s");
    await closing;
    expect((await store.find([id]))[0]).toMatchObject({ status: "pending", attempt: 0 });
  });

  test("draws its end nearer with a shorter grace, as stopOnSignals asks for it", async () => {
    const { client, clock } = await openClient();
    client.work({ t: () => new Promise(() => {}) });
    await client.enqueue("t");
    await clock.settle();
    const closing = (client as { close(options: { grace: string }): Promise<void> }).close({ grace: "1s" });
    await clock.advance("1s");
    await closing;
  });

  test("has nothing to do with workers that were stopped before, and keeps none of them", async () => {
    let stops = 0;
    const { client } = await openClient();
    const [worker, other] = [client.work({ t: async () => {} }), client.work({ t: async () => {} })];
    for (const each of [worker, other]) {
      const stop = each.stop.bind(each);
      each.stop = (options) => {
        stops++;
        return stop(options);
      };
    }
    await worker.stop();
    await client.close();
    expect(stops).toBe(2);
  });

  test("waits for a store that is away until the grace is over and a last word was possible, and no longer", async () => {
    const { client, store, clock } = await openClient();
    const hanging = (): Promise<never> => new Promise(() => {});
    Object.assign(store, { insert: hanging, promote: hanging, publish: hanging });
    let isFreed = false;
    store.close = async (giveUp) => {
      isFreed = true;
      if (!giveUp!.aborted) await new Promise((resolve) => giveUp!.addEventListener("abort", resolve));
    };
    client.work({ t: async () => {} });
    void client.enqueue("t");
    await clock.settle();
    let isClosed = false;
    const closing = client.close({ grace: "10s" }).then(() => (isClosed = true));
    await clock.advance("10s");
    expect(isFreed).toBe(false);
    await clock.advance("1s");
    await closing;
    expect([isFreed, isClosed]).toEqual([true, true]);
  });

  /** From now on the store answers nothing, and its end waits until it is given up. */
  function silence(store: Store): void {
    const hanging = (): Promise<never> => new Promise(() => {});
    const verbs = ["insert", "exchange", "extend", "register", "unregister", "promote", "expired", "dueSchedules", "publish"] as const;
    for (const verb of verbs) store[verb] = hanging;
    store.close = async (giveUp) => {
      if (!giveUp!.aborted) await new Promise((resolve) => giveUp!.addEventListener("abort", resolve));
    };
  }

  test("gives a silent store one second after the grace for all that is left, and rejects with what could not be reported", async () => {
    const { client, store, clock } = await openClient();
    const worker = client.work({ t: () => new Promise(() => {}) });
    await client.enqueueMany([{ type: "t" }, { type: "t" }]);
    await clock.settle();
    expect(worker.running).toBe(2);
    silence(store);
    let end: unknown = null;
    client.close({ grace: "2s" }).then(
      () => (end = "closed"),
      (error: unknown) => (end = error),
    );
    await clock.advance(2999);
    expect(end).toBeNull();
    await clock.advance(1);
    expect(end).toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("the outcome of 2 jobs could not be reported") as string,
    });
    // A repeat gives the same answer, also to who closes what the test has opened.
    client.close = async () => {};
  });

  test("gives a silent store half a second in all when nothing runs, whatever the grace", async () => {
    const { client, store, clock } = await openClient();
    silence(store);
    client.work({ t: async () => {} });
    await clock.advance("10s");
    let isClosed = false;
    void client.close({ grace: "1h" }).then(() => (isClosed = true));
    await clock.advance(499);
    expect(isClosed).toBe(false);
    await clock.advance(1);
    expect(isClosed).toBe(true);
  });

  test.each([
    ["closes at once, as a server does after its workers", { grace: 0 }],
    ["lets each worker have its own grace", {}],
  ])("gives a silent store that time once, also when workers were stopped before: %s", async (_name, options) => {
    const { client, store, clock } = await openClient({ worksBulk: true, upkeep: true });
    const worker = client.work({ t: async () => {} });
    await clock.advance("10s");
    silence(store);
    await clock.advance("10s");
    const stopping = worker.stop({ grace: "1h" });
    await clock.advance(500);
    await stopping;
    let isClosed = false;
    void client.close(options).then(() => (isClosed = true));
    await clock.settle();
    expect(isClosed).toBe(true);
  });

  test("gives a slow store only what its workers have left of that time", async () => {
    const { client, store, clock } = await openClient({ upkeep: true });
    const worker = client.work({ t: async () => {} });
    await clock.advance("10s");
    store.unregister = () => new Promise((resolve) => void clock.setTimer(resolve, 300));
    const stopping = worker.stop({ grace: "1h" });
    await clock.advance(300);
    await stopping;
    silence(store);
    let isClosed = false;
    void client.close({ grace: 0 }).then(() => (isClosed = true));
    await clock.advance(199);
    expect(isClosed).toBe(false);
    await clock.advance(1);
    expect(isClosed).toBe(true);
  });

  test("waits out the grace for an outcome that the store may still take", async () => {
    const { client, store, clock } = await openClient();
    const end = Promise.withResolvers<void>();
    client.work({ t: () => end.promise });
    await client.enqueue("t");
    await clock.settle();
    const settled: string[] = [];
    const exchange = store.exchange.bind(store);
    let isAway = true;
    store.exchange = async (...args) => {
      if (isAway) throw new MillraceError("store_unavailable", "away");
      const answer = await exchange(...args);
      settled.push(...answer.settled);
      return answer;
    };
    end.resolve();
    await clock.settle();
    const closing = client.close({ grace: "30s" });
    await clock.advance("20s");
    isAway = false;
    await clock.advance("6s");
    await closing;
    expect(settled).toEqual(["ok"]);
  });

  test("that is asked again with a shorter grace gives a store that is away no longer than that", async () => {
    const { client, store, clock } = await openClient();
    silence(store);
    void client.enqueue("t");
    await clock.settle();
    let isClosed = false;
    void client.close({ grace: "1h" }).then(() => (isClosed = true));
    await clock.advance("1m");
    expect(isClosed).toBe(false);
    void client.close({ grace: "1s" });
    await clock.advance("2s");
    expect(isClosed).toBe(true);
  });
});
