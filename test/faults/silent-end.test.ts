/** A process that is told to stop while its store is silent ends soon after its grace, and says what it could not report. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "millrace";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startCli } from "../e2e/run-cli.ts";
import { startProgram, temporaryFolder } from "../e2e/run-program.ts";
import { readLedger } from "./ledger.ts";
import { ENGINES, type FaultyServer } from "./servers.ts";
import { until } from "./until.ts";

const program = fileURLToPath(new URL("../e2e/programs/worker.ts", import.meta.url));
/** That it is one second and not three is held by the tests with a clock turned by hand; here a slow machine has its time. */
const SLACK_MS = 10_000;

describe.each(ENGINES)("$name goes silent, and then a stop comes", ({ start }) => {
  let server: FaultyServer;
  beforeAll(async () => void (server = await start()));
  afterAll(() => server.stop());

  test("a worker whose jobs run ends with 1 and a line", { timeout: 60_000 }, async () => {
    const { url, wiredUrl } = server.store();
    const ledger = join(temporaryFolder(), "ledger.jsonl");
    const worker = startProgram(program, [wiredUrl, ledger, JSON.stringify({ runMs: 60_000, stubborn: true, grace: "2s", lease: "30s" })]);
    await worker.printed("ready");
    const client = await connect(url);
    onTestFinished(() => client.close());
    await client.enqueueMany([1, 2].map(() => ({ type: "task" })));
    await until(() => readLedger(ledger).filter(({ op }) => op === "start").length === 2);
    server.wire.stall();
    onTestFinished(() => server.wire.heal());
    const since = performance.now();
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: 1, signal: null });
    expect(performance.now() - since).toBeLessThan(2000 + SLACK_MS);
    expect(worker.output.stderr).toContain("could not shut down cleanly: the outcome of 2 jobs could not be reported");
  });

  test("a worker with nothing to report ends with 0, whatever its grace", { timeout: 60_000 }, async () => {
    const ledger = join(temporaryFolder(), "ledger.jsonl");
    const worker = startProgram(program, [server.store().wiredUrl, ledger, JSON.stringify({ grace: "50s" })]);
    await worker.printed("ready");
    server.wire.stall();
    onTestFinished(() => server.wire.heal());
    const since = performance.now();
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - since).toBeLessThan(1000 + SLACK_MS);
  });

  test("a server with nothing to report ends with 0, whatever its grace", { timeout: 60_000 }, async () => {
    const env = { MILLRACE_URL: server.store().wiredUrl, PORT: "0", HOST: "127.0.0.1", WORKER_SHUTDOWN_TIMEOUT: "50s" };
    const cli = startCli(["server"], { cwd: temporaryFolder(), env });
    await cli.said("API on");
    server.wire.stall();
    onTestFinished(() => server.wire.heal());
    const since = performance.now();
    cli.child.kill("SIGTERM");
    expect(await cli.ended).toMatchObject({ code: 0 });
    expect(performance.now() - since).toBeLessThan(1000 + SLACK_MS);
  });
});
