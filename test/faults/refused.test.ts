/** A server that takes no connections is asked for one now and then, not by every call that waits. */
import { fileURLToPath } from "node:url";
import { connect } from "millrace";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startProgram, temporaryFolder } from "../e2e/run-program.ts";
import { ENGINES, type FaultyServer } from "./servers.ts";
import { until } from "./until.ts";

/**
 * Of one process: what was connected when the server went away is tried again at once, and then each of its connections that stand for
 * something of their own (calls, beats, hints) about once a second.
 */
const AT_ONCE = 30;
const A_SECOND = 8;
const WATCHED_MS = 6000;

const program = fileURLToPath(new URL("../e2e/programs/worker.ts", import.meta.url));

describe.each(ENGINES)("$name that takes no connections", ({ start }) => {
  let server: FaultyServer;
  beforeAll(async () => void (server = await start()));
  afterAll(() => server.stop());

  /** How often it was asked for a connection in a while, and for how long it was watched. */
  async function connects(): Promise<{ count: number; seconds: number }> {
    const { wire } = server;
    const before = wire.effects.refused;
    const since = performance.now();
    wire.refuse();
    onTestFinished(() => wire.heal());
    await new Promise((resolve) => setTimeout(resolve, WATCHED_MS));
    return { count: wire.effects.refused - before, seconds: (performance.now() - since) / 1000 };
  }

  test("is not stormed by a client that serves others, and answers it when it is back", { timeout: 60_000 }, async () => {
    const client = await connect(server.store().wiredUrl, { upkeep: true, deadline: "2s", onTrouble: () => {} });
    onTestFinished(() => client.close({ grace: 0 }));
    const worker = client.work({ task: async () => {} });
    const events = client.events()[Symbol.asyncIterator]();
    const first = events.next();
    await client.wait((await client.enqueue("task")).id);
    await first;
    // Somebody asks all the time, as a load balancer does.
    const asking = setInterval(() => void client.stats().catch(() => {}), 100);
    onTestFinished(() => clearInterval(asking));
    const { count, seconds } = await connects();
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThan(AT_ONCE + A_SECOND * seconds);
    server.wire.heal();
    await until(() =>
      client.enqueue("task").then(
        ({ id }) => client.wait(id).then(() => true),
        () => false,
      ),
    );
    await until(() => worker.healthy);
    await events.return?.();
  });

  test("is not stormed by a process with an idle worker", { timeout: 60_000 }, async () => {
    const ledger = `${temporaryFolder()}/ledger.jsonl`;
    const worker = startProgram(program, [server.store().wiredUrl, ledger, JSON.stringify({ deadline: "2s" })]);
    await worker.printed("ready");
    const { count, seconds } = await connects();
    worker.child.kill("SIGKILL");
    await worker.ended;
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThan(AT_ONCE + A_SECOND * seconds);
  });
});
