import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { createServer, listen } from "../../src/server.ts";
import { until } from "../faults/until.ts";

const WORKER = fileURLToPath(new URL("../../examples/worker.py", import.meta.url));
const HAS_PYTHON = spawnSync("python3", ["--version"]).status === 0;

describe("a worker in another language", () => {
  // The machine has no python3: the routes that it would use have tests of their own.
  test.skipIf(!HAS_PYTHON)("claims, runs and reports over HTTP, and ends when it is told to", async () => {
    const client = await connect("memory:", { upkeep: true });
    const server = createServer(client, { keys: ["py:work:the-key-of-the-worker"] });
    const port = await listen(server, { port: 0 });
    const python = spawn("python3", [WORKER, port.url], {
      env: { ...process.env, MILLRACE_KEY: "the-key-of-the-worker" },
      stdio: "inherit",
    });
    onTestFinished(async () => {
      python.kill("SIGKILL");
      await server.drain();
      await port.close({ graceMs: 0 });
      await client.close();
    });
    const [shout, doomed] = [
      await client.enqueue("python:shout", { text: "hello" }),
      await client.enqueue("python:fail", [1], { maxRetries: 0 }),
    ];
    expect(await client.wait(shout.id)).toMatchObject({ status: "completed", result: { shouted: "HELLO" }, attempt: 1 });
    expect(await client.wait(doomed.id)).toMatchObject({
      status: "dead",
      error: { name: "ValueError", message: "cannot do anything with [1]" },
    });
    const onboard = await client.enqueue("python:onboard", { user: "ann" });
    await until(async () => (await client.steps(onboard.id)).some(({ name, state }) => name === "approval" && state === "open"));
    expect((await client.get(onboard.id))?.status).toBe("blocked");
    const [account, nap] = await client.steps(onboard.id);
    expect(account).toMatchObject({ name: "create account", kind: "step", state: "done", attempt: 1 });
    expect(nap).toMatchObject({ name: "a moment", kind: "sleep", state: "done" });
    expect(await client.signal(onboard.id, "approval", { by: "bob" })).toEqual({ accepted: true });
    expect(await client.wait(onboard.id)).toMatchObject({ status: "completed", result: { account: account!.value, approved_by: "bob" } });
    python.kill("SIGTERM");
    expect(await once(python, "exit")).toEqual([0, null]);
  });
});
