import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { MISSING_ID, openClient } from "./open-client.ts";

/** Every call that a client answers with a promise. */
const CALLS: Record<string, (client: Client) => Promise<unknown>> = {
  enqueue: (client) => client.enqueue("t"),
  enqueueMany: (client) => client.enqueueMany([]),
  get: (client) => client.get(MISSING_ID),
  list: (client) => client.list(),
  attempts: (client) => client.attempts(MISSING_ID),
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
  "dead.list": (client) => client.dead.list(),
  "dead.retry": (client) => client.dead.retry(),
  "dead.purge": (client) => client.dead.purge(),
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
    await clock.advance("2s");
    await closing;
    expect([isFreed, isClosed]).toEqual([true, true]);
  });

  test("that is asked again with a shorter grace gives a store that is away no longer than that", async () => {
    const { client, store, clock } = await openClient();
    store.close = async (giveUp) => void (await new Promise((resolve) => giveUp!.addEventListener("abort", resolve)));
    const closing = client.close({ grace: "1h" });
    await clock.advance("1m");
    void client.close({ grace: "1s" });
    await clock.advance("3s");
    await closing;
  });
});
