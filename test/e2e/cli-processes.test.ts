// What only a real process can show: signals, pipes, a worker's end.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { createServer, listen } from "../../src/server.ts";
import { until } from "../faults/until.ts";
import { CLI, plainEnvironment, runCli, startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const HANDLERS = `
export default {
  quick: async () => "done",
  stubborn: () => new Promise(() => {}),
  broken: async () => { throw new Error("it broke"); },
};
`;

function folderWithHandlers(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "jobs.mjs"), HANDLERS);
  return folder;
}

async function statusOf(id: string, cwd: string): Promise<string> {
  return (JSON.parse((await runCli(["status", id, "--json"], { cwd })).stdout) as { status: string }).status;
}

describe("Ctrl-C", () => {
  test("ends tail with 130", async () => {
    const tail = startCli(["tail"], { cwd: temporaryFolder() });
    await tail.said("press Ctrl-C to stop");
    tail.child.kill("SIGINT");
    expect(await tail.ended).toMatchObject({ code: 130, stdout: "" });
  });

  test("ends a wait with 130, and the job goes on", async () => {
    const cwd = temporaryFolder();
    const waiting = startCli(["enqueue", "nobody", "--wait", "--wait-timeout", "1h"], { cwd });
    await waiting.said("waiting until it ends");
    waiting.child.kill("SIGINT");
    expect(await waiting.ended).toMatchObject({ code: 130, stderr: expect.stringMatching(/^millrace: interrupted$/m) as string });
    expect((await runCli(["list", "--status", "pending", "--ids"], { cwd })).stdout).not.toBe("");
  });

  test("ends a stream of looks with 130", async () => {
    const top = startCli(["top", "--json", "--interval", "100ms"], { cwd: temporaryFolder() });
    await top.said(`"dead_count":0`);
    top.child.kill("SIGINT");
    expect(await top.ended).toMatchObject({ code: 130, stderr: "" });
  });

  test("ends the demo with 130", async () => {
    const demo = startCli(["demo"], { cwd: temporaryFolder() });
    await demo.said("4. a worker with 5 slots starts");
    demo.child.kill("SIGINT");
    expect((await demo.ended).code).toBe(130);
  });
});

describe("a worker", () => {
  test("that is told to stop gives back what does not end within its time, and exits with 0", async () => {
    const cwd = folderWithHandlers();
    const worker = startCli(["worker", "--handlers", "./jobs.mjs", "--shutdown-timeout", "0"], { cwd });
    await worker.said("a worker for 3 types on sqlite:millrace.db (default), 10 slots, queues default");
    const { stdout } = await runCli(["enqueue", "stubborn", "--timeout", "0"], { cwd });
    const id = stdout.trim();
    await until(async () => (await statusOf(id, cwd)) === "running");
    worker.child.kill("SIGTERM");
    expect((await worker.ended).code).toBe(0);
    expect(await statusOf(id, cwd)).toBe("pending");
  });

  test("writes a line into the log for each job that ended, as lines of JSON on its output", async () => {
    const cwd = folderWithHandlers();
    const worker = startCli(["worker", "--handlers", "./jobs.mjs"], { cwd });
    await worker.said("a worker for");
    const { stdout } = await runCli(["enqueue", "broken", "--max-retries", "0"], { cwd });
    await worker.said("job failed for good");
    worker.child.kill("SIGTERM");
    const ended = await worker.ended;
    const line = ended.stdout.split("\n").find((text) => text.includes("job failed for good"))!;
    expect(JSON.parse(line)).toMatchObject({ level: "error", job_id: stdout.trim(), type: "broken", error: { message: "it broke" } });
  });

  test("ends at once at a second signal, with 1", async () => {
    const cwd = folderWithHandlers();
    const worker = startCli(["worker", "--handlers", "./jobs.mjs", "--shutdown-timeout", "1h"], { cwd });
    await worker.said("a worker for");
    const { stdout } = await runCli(["enqueue", "stubborn", "--timeout", "0"], { cwd });
    await until(async () => (await statusOf(stdout.trim(), cwd)) === "running");
    worker.child.kill("SIGINT");
    await worker.said("a second signal ends at once");
    worker.child.kill("SIGINT");
    expect((await worker.ended).code).toBe(1);
  });

  test("takes jobs from the queues that it is told, and bounds them", async () => {
    const cwd = folderWithHandlers();
    const worker = startCli(["worker", "--handlers", "./jobs.mjs", "--queues", "mail=3,reports"], {
      cwd,
      env: { QUEUE_CAPACITY: "7", NUM_WORKERS: "3" },
    });
    await worker.said("3 slots, queues mail, reports");
    expect((await runCli(["enqueue", "quick", "--queue", "reports", "--wait", "--json"], { cwd })).code).toBe(0);
    const queues = (await runCli(["queues", "--json"], { cwd })).stdout.trim().split("\n");
    expect(queues.map((line) => JSON.parse(line) as object)).toMatchObject([
      { name: "mail", capacity: 7 },
      { name: "reports", capacity: 7 },
    ]);
    worker.child.kill("SIGTERM");
    expect((await worker.ended).code).toBe(0);
  });

  test("leaves a queue the capacity that it has, and says so", async () => {
    const cwd = folderWithHandlers();
    await runCli(["queues", "set", "mail", "--create", "--capacity", "9"], { cwd });
    const worker = startCli(["worker", "--handlers", "./jobs.mjs", "--queues", "mail"], { cwd, env: { QUEUE_CAPACITY: "7" } });
    await worker.said("queue mail keeps its own capacity of 9");
    await worker.said("a worker for");
    const [queue] = (await runCli(["queues", "--json"], { cwd })).stdout.trim().split("\n");
    expect(JSON.parse(queue!)).toMatchObject({ name: "mail", capacity: 9 });
  });

  test("says which settings of the environment it does not use", async () => {
    const cwd = folderWithHandlers();
    const stores = { DATABASE_URL: "mysql://127.0.0.1/app", REDIS_ADDR: "127.0.0.1:1", MILLRACE_URL: "" };
    const two = startCli(["worker", "--handlers", "./jobs.mjs"], { cwd, env: stores });
    await two.said("millrace: DATABASE_URL not used: the store is redis://127.0.0.1:1 (REDIS_ADDR)");
    const remote = startCli(["worker", "--handlers", "./jobs.mjs"], { cwd, env: { MILLRACE_URL: "http://127.0.0.1:1", POOL_SIZE: "3" } });
    await remote.said("millrace: POOL_SIZE not used: http://127.0.0.1:1 opens the store, so set it on the server");
  });

  test.each([
    ["no key", {}, "this request needs an API key: send it in the header X-API-Key, or set API_KEY"],
    ["a wrong key", { API_KEY: "wrong" }, "this server does not know the API key: compare API_KEY"],
  ])("ends when its server refuses it, with %s", async (_name, env, message) => {
    const client = await connect("memory:");
    const port = await listen(createServer(client, { keys: ["the-right-key"] }), { port: 0 });
    onTestFinished(async () => {
      await port.close();
      await client.close();
    });
    const ended = await runCli(["worker", "--handlers", "./jobs.mjs", "--url", port.url], { cwd: folderWithHandlers(), env });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain(`millrace: ${message}`);
    expect(ended.stderr).not.toContain("a worker for");
    expect(ended.stdout).not.toContain("keeps trying");
  });

  test("warns of a variable that is almost a setting", async () => {
    const ended = await runCli(["stats"], { cwd: temporaryFolder(), env: { WORKER_CONCURENCY: "3" } });
    expect(ended).toMatchObject({ code: 0, stderr: "millrace: WORKER_CONCURENCY is not a setting; did you mean WORKER_CONCURRENCY?\n" });
  });

  test.each([
    ["no handlers", "export const x = 1;", [], 2, /has no handlers: its default export must be/],
    ["an empty object", "export default {};", [], 2, /has no handlers: its default export must be/],
    [
      "an error of its own",
      "throw new Error('no database');",
      [],
      1,
      /^millrace: --handlers \.\/jobs\.mjs cannot be loaded: no database\nError: no database\n +at file:\/\/\S+\/jobs\.mjs:1:7\n$/,
    ],
    ["what is no handler", "export default { a: 1 };", [], 2, /^millrace: .*must be a function/m],
    ["a wrong weight", "export default { a() {} };", ["--queues", "mail=lots"], 2, /^millrace: .*must be a whole number from 1 to 1000/m],
    ["a wrong setting", "export default { a() {} };", ["--lease", "1ms"], 2, /^millrace: --lease must be a time from 1s to 1h/m],
  ] as const)("is not started with %s", async (_name, text, args, code, message) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "jobs.mjs"), text);
    const ended = await runCli(["worker", "--handlers", "./jobs.mjs", ...args], { cwd });
    expect(ended).toMatchObject({ code, stderr: expect.stringMatching(message) as string });
  });

  test("says what to write instead of TypeScript that Node cannot run, and where", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "jobs.ts"), "export enum Level {\n  low,\n}\nexport default { a() {} };");
    const ended = await runCli(["worker", "--handlers", "./jobs.ts"], { cwd });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^millrace: --handlers \.\/jobs\.ts cannot be loaded: .*enum is not supported.*\. Node only removes types: write it without enums, /,
    );
    expect(ended.stderr).toMatch(/^\/.*\/jobs\.ts:1$/m);
    expect(ended.stderr).not.toContain("node:internal");
  });
});

describe("output", () => {
  test("into a pipe whose reader has seen enough is no failure", async () => {
    const cwd = temporaryFolder();
    for (const _job of [1, 2]) await runCli(["enqueue", "a"], { cwd });
    const script = `set -o pipefail; "$@" list --ids --json | head -n 1; echo "code $?"`;
    const said = execFileSync("bash", ["-c", script, "bash", process.execPath, ...CLI], { cwd, env: plainEnvironment(), encoding: "utf8" });
    expect(said).toMatch(/^[0-9a-f-]{36}\ncode 0\n$/);
  });

  test("that cannot reach a store fails with 1 and says why", async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, "folder"));
    const ended = await runCli(["list", "--url", "sqlite:folder"], { cwd });
    expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/^millrace: .*folder/) as string });
  });

  test("warns of a file with secrets that others can read", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "millrace.config.json"), `{"apiKey":"s3cret","url":"memory:"}`);
    chmodSync(join(cwd, "millrace.config.json"), 0o644);
    const { code, stderr } = await runCli(["queues", "--quiet"], { cwd });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        "millrace: millrace.config.json contains apiKey, and other users of this machine can read it. Run: chmod 600 millrace.config.json\n",
    });
  });
});
