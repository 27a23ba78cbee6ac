/** A process that is told to stop while its store is silent ends soon after its grace, and says what it could not report. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "millrace";
import { createServer, listen } from "millrace/server";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Ended, type RunningCli, startCli } from "../e2e/run-cli.ts";
import { startProgram, temporaryFolder } from "../e2e/run-program.ts";
import { readLedger } from "./ledger.ts";
import { TcpProxy } from "../servers/tcp-proxy.ts";
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
    "a worker, a server and both in one, with nothing to report, end with 0 while the store %s, and complain of nothing",
    { timeout: 45_000 },
    async (...states) => {
      const [state, leave, comeBack] = states;
      const { url, wiredUrl } = server.store();
      const storeUrl = state === "is gone" ? url : wiredUrl;
      const commands = [startIdle("worker", storeUrl), startIdle("server", storeUrl), startIdle("start", storeUrl)];
      await Promise.all(commands.map(({ begun }) => begun));
      onTestFinished(async () => void (await comeBack(server)));
      await leave(server);
      for (const { command } of commands) command.child.kill("SIGTERM");
      for (const { command } of commands) expectToEndInPeace(await command.ended);
    },
  );
});

test("a worker of a server that is silent ends with 0 and complains of nothing, if nothing runs", { timeout: 45_000 }, async () => {
  const client = await connect("memory:");
  const listening = await listen(createServer(client, { open: true }), { port: 0, host: "127.0.0.1" });
  const wire = await TcpProxy.to(Number(new URL(listening.url).port));
  onTestFinished(async () => {
    wire.heal();
    await listening.close({ graceMs: 0 });
    await client.close({ grace: 0 });
    wire.close();
  });
  const { command, begun } = startIdle("worker", `http://127.0.0.1:${wire.port}`);
  await begun;
  wire.stall();
  command.child.kill("SIGTERM");
  expectToEndInPeace(await command.ended);
});

/** A process with nothing to do, and a promise that it has begun. */
function startIdle(name: "worker" | "server" | "start", url: string): { readonly command: RunningCli; readonly begun: Promise<void> } {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "jobs.mjs"), "export default { t() {} };");
  const env = { MILLRACE_URL: url, WORKER_SHUTDOWN_TIMEOUT: "50s", ...(name === "worker" ? {} : { PORT: "0", HOST: "127.0.0.1" }) };
  const command = startCli([name, ...(name === "server" ? [] : ["--handlers", "./jobs.mjs"])], { cwd, env });
  return { command, begun: command.said(name === "worker" ? "a worker for" : "API on") };
}

/** It said that it stops, and of nothing that it could not do so cleanly. */
function expectToEndInPeace({ code, stderr }: Ended): void {
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining("millrace: stopping; running jobs have 50s to finish, and a second signal ends at once\n") as string,
  });
  expect(stderr).not.toContain("could not");
}
