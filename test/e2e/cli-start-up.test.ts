// A command loads what it needs and no more: that is what its start costs. How long it takes is measured by `npm run bench`.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { createServer, listen } from "../../src/server.ts";
import { CLI, plainEnvironment } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

/** Writes the address of every module that is loaded where the test reads it. */
const TELL_MODULES = `data:text/javascript,${encodeURIComponent(
  `import { writeSync } from "node:fs";
   import { registerHooks } from "node:module";
   registerHooks({ load(url, context, next) { writeSync(3, url + "\\n"); return next(url, context); } });`,
)}`;

function modulesOf(...args: readonly string[]): Promise<string[]> {
  return modulesOfNode(...CLI, ...args);
}

async function modulesOfNode(...args: readonly string[]): Promise<string[]> {
  const child = spawn(process.execPath, ["--import", TELL_MODULES, ...args], {
    cwd: temporaryFolder(),
    env: plainEnvironment(),
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stdio[3]!.on("data", (text: Buffer) => (said += text.toString()));
  expect(await once(child, "close")).toEqual([0, null]);
  return said.trim().split("\n");
}

const TELEMETRY = /@opentelemetry/;
const LOCAL_HALF = /src\/(store|upkeep|client)\/|src\/assembly\/client-over|src\/worker\/worker/;
const REMOTE_HALF = /src\/http\/remote/;
const SERVER = /src\/serve\.|src\/http\/server|node_modules\/(typebox|hono|pino)/;

describe("a command loads", () => {
  test("for its version no store and no server", async () => {
    const modules = await modulesOf("--version");
    expect(modules.some((url) => url.includes("commander"))).toBe(true);
    expect(modules.filter((url) => [TELEMETRY, LOCAL_HALF, REMOTE_HALF, SERVER].some((part) => part.test(url)))).toEqual([]);
  });

  test("on a store one engine, and nothing of a server", async () => {
    const modules = await modulesOf("stats", "--url", `sqlite:${join(temporaryFolder(), "jobs.db")}`);
    expect(modules.some((url) => url.includes("src/store/sqlite/"))).toBe(true);
    expect(modules.filter((url) => [TELEMETRY, REMOTE_HALF, SERVER, /store\/(memory|redis|postgres)\//].some((part) => part.test(url)))).toEqual([]); // oxfmt-ignore
  });

  test("on a server nothing of a store and of workers", async () => {
    const client = await connect("memory:");
    const server = createServer(client, {});
    const port = await listen(server, { port: 0 });
    onTestFinished(async () => {
      await server.drain();
      await port.close({ graceMs: 0 });
      await client.close();
    });
    const modules = await modulesOf("stats", "--url", port.url);
    expect(modules.some((url) => REMOTE_HALF.test(url))).toBe(true);
    expect(modules.filter((url) => [TELEMETRY, LOCAL_HALF, SERVER].some((part) => part.test(url)))).toEqual([]);
  });
});

test("a server loads what checks schemas, and not what builds them: that is twice as much", async () => {
  const server = new URL("../../src/server.ts", import.meta.url).href;
  const modules = await modulesOfNode("--input-type=module", "--eval", `await import(${JSON.stringify(server)})`);
  expect(modules.some((url) => url.includes("typebox/build/schema/"))).toBe(true);
  expect(modules.filter((url) => /typebox\/build\/(type|value|compile)\//.test(url))).toEqual([]);
});
