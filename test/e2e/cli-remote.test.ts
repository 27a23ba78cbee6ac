import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { createServer, listen, type ServerOptions } from "../../src/server.ts";
import { cliSuite, type CliTarget } from "./cli-suite.ts";
import { runCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const OPERATOR = "operator:read+enqueue+work+admin:s3cret";
const WATCHER = "watcher:read:look";

async function serve(options: ServerOptions = {}): Promise<CliTarget> {
  const client = await connect("memory:", { upkeep: true });
  const listening = await listen(createServer(client, { keys: [OPERATOR, WATCHER], ...options }), { port: 0 });
  return {
    url: listening.url,
    env: { API_KEY: OPERATOR },
    close: async () => {
      await listening.close({ graceMs: 0 });
      await client.close({ grace: 0 });
    },
  };
}

cliSuite("a server", () => serve(), { here: true });

describe("what only a server can say", () => {
  test.each([
    ["no key", {}, ["list"], 4],
    ["a key that it does not know", { API_KEY: "guess" }, ["list"], 4],
    ["a key that may only look, looking", { API_KEY: WATCHER }, ["list"], 0],
    ["a key that may only look, changing", { API_KEY: WATCHER }, ["enqueue", "a"], 4],
    ["the key of an operator", { API_KEY: OPERATOR }, ["enqueue", "a"], 0],
    ["a key for a look at its health", { API_KEY: OPERATOR }, ["doctor"], 0],
    ["a key for what is its own business", { API_KEY: OPERATOR }, ["migrate"], 2],
  ])("%s", async (_name, env, args, code) => {
    const server = await serve();
    onTestFinished(() => server.close());
    const ended = await runCli(args, { cwd: temporaryFolder(), env: { MILLRACE_URL: server.url, ...env } });
    expect(ended).toMatchObject({ code, stderr: expect.not.stringContaining("s3cret") as string });
    if (code !== 0) expect(ended.stderr).toMatch(/^millrace: \S/);
  });

  test("that it was asked too often", async () => {
    const server = await serve({ rateLimit: { requests: 1, perMs: 3_600_000 } });
    onTestFinished(() => server.close());
    const options = { cwd: temporaryFolder(), env: { MILLRACE_URL: server.url, API_KEY: OPERATOR } };
    expect((await runCli(["list"], options)).code).toBe(0);
    expect((await runCli(["list"], options)).code).toBe(6);
  });
});
