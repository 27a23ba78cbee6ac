/** A process that is told to stop while its store is silent ends soon after its grace, and says what it could not report. */
import { writeFileSync } from "node:fs";
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

  // Nothing runs, so nobody waits for the grace period of 50 s, which is longer than this test may take.
  test.each<[string, (server: FaultyServer) => unknown, (server: FaultyServer) => unknown]>([
    ["is silent", ({ wire }) => wire.stall(), ({ wire }) => wire.heal()],
    ["breaks connections", ({ wire }) => wire.refuse(), ({ wire }) => wire.heal()],
    ["is gone", (gone) => gone.kill(), (gone) => gone.restart()],
  ])(
    "a worker, a server and both in one, with nothing to report, end with 0 while the store %s",
    { timeout: 45_000 },
    async (...states) => {
      const [state, leave, comeBack] = states;
      const { url, wiredUrl } = server.store();
      const cwd = temporaryFolder();
      writeFileSync(join(cwd, "jobs.mjs"), "export default { t() {} };");
      const env = { MILLRACE_URL: state === "is gone" ? url : wiredUrl, PORT: "0", HOST: "127.0.0.1", WORKER_SHUTDOWN_TIMEOUT: "50s" };
      const handlers = ["--handlers", "./jobs.mjs"];
      const commands = [["worker", ...handlers], ["server"], ["start", ...handlers]].map((args) => startCli(args, { cwd, env }));
      await Promise.all(commands.map((command, index) => command.said(index === 0 ? "a worker for" : "API on")));
      onTestFinished(async () => void (await comeBack(server)));
      await leave(server);
      for (const { child } of commands) child.kill("SIGTERM");
      for (const { ended } of commands) expect(await ended).toMatchObject({ code: 0 });
    },
  );
});
