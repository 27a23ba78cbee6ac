/** The wire between clients and their server fails in mid-load, in every way that a wire can. */
import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { connect } from "millrace";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Load, type LoadOptions } from "./load.ts";
import { between, FAULTS, keepHarming } from "./nemesis.ts";
import { ENGINES, type FaultyServer } from "./servers.ts";
import { until } from "./until.ts";

/** With a beat of a third: short enough that to wait 5 s for an answer, as other calls do, is to lose it. */
const LEASE_MS = 7_000;

describe.each(ENGINES)("on $name, a wire", ({ start }) => {
  let server: FaultyServer;
  beforeAll(async () => void (server = await start()));
  afterAll(() => server.stop());

  function startLoad(options: Pick<LoadOptions, "deadline"> = {}): Promise<Load> {
    const { url, wiredUrl } = server.store();
    return Load.start({ url: wiredUrl, witness: url, ...options });
  }

  test("that is cut again and again costs no job, and no caller is told of it", { timeout: 120_000 }, async () => {
    const { wire } = server;
    const load = await startLoad();
    const before = wire.effects.cut;
    const nemesis = keepHarming(
      () => {
        wire.cut();
        return 1;
      },
      between(200, 600),
    );
    await nemesis.effects(FAULTS);
    await load.goesOn(300);
    await nemesis.stop();
    await load.finish();
    expect(wire.effects.cut - before).toBeGreaterThan(FAULTS);
    expect(load.lines.filter(({ op }) => op === "unknown")).toEqual([]);
  });

  test("that loses answers makes no call act twice, and no caller is told of it", { timeout: 120_000 }, async () => {
    const { wire } = server;
    const load = await startLoad();
    const before = wire.effects.swallowed;
    wire.swallow(server.request, 20);
    await load.goesOn(300);
    await until(() => wire.effects.swallowed - before > FAULTS);
    wire.heal();
    await load.finish();
    expect(load.lines.filter(({ op }) => op === "unknown")).toEqual([]);
  });

  test("that stalls for longer than calls wait fails them, and work goes on when it is healed", { timeout: 120_000 }, async () => {
    const { wire } = server;
    const load = await startLoad({ deadline: "1s" });
    await load.goesOn(100);
    const before = wire.effects.stalled;
    const unknown = (): number => load.lines.filter(({ op }) => op === "unknown").length;
    // On a busy machine some were not answered in time before.
    const unknownBefore = unknown();
    wire.stall();
    await expect.poll(unknown, { timeout: 60_000 }).toBeGreaterThan(unknownBefore + 8);
    wire.heal();
    await load.goesOn(200);
    await load.finish();
    expect(wire.effects.stalled - before).toBeGreaterThan(2);
  });

  test("on which connections go silent for good costs a call a moment, not its life: new ones are made", async () => {
    const { wire } = server;
    const client = await connect(server.store().wiredUrl, { deadline: "4s" });
    onTestFinished(() => client.close());
    const before = wire.effects.stalled;
    // At the same time, so that more than one connection lies idle where there is a pool of them.
    await Promise.all([client.enqueue("task"), client.stats(), client.queues(), client.workers()]);
    wire.silence();
    const { id } = await client.enqueue("task");
    expect(await client.get(id)).toMatchObject({ status: "pending" });
    expect(wire.effects.stalled).toBeGreaterThan(before);
  });

  test("on which the connections of a worker go silent costs no lease: it is renewed over another while it is good", async () => {
    const { url, wiredUrl } = server.store();
    const [near, far] = [await connect(url, { upkeep: true }), await connect(wiredUrl)];
    onTestFinished(async () => void (await Promise.all([near.close(), far.close({ grace: 0 })])));
    const mayEnd = Promise.withResolvers<void>();
    const started = once(process, "worker") as Promise<[Worker]>;
    const worker = far.work({ task: () => mayEnd.promise }, { lease: LEASE_MS });
    const { id } = await near.enqueue("task");
    const [thread] = await started;
    // The first that it says is that it beats.
    await once(thread, "message");
    await until(() => worker.running === 1);
    const lastBeat = async (): Promise<number> => (await near.workers())[0]?.heartbeatAt ?? 0;
    await until(async () => (await lastBeat()) > 0);
    const before = await lastBeat();
    server.wire.silence();
    await until(async () => (await lastBeat()) > before + 1.5 * LEASE_MS);
    expect(await near.get(id)).toMatchObject({ status: "running", attempt: 1 });
    mayEnd.resolve();
  });
});
