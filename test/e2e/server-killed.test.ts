import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { freePort } from "../servers/free-port.ts";
import { type Program, startProgram, temporaryFolder } from "./run-program.ts";

const SERVER = fileURLToPath(new URL("programs/http-server.ts", import.meta.url));

async function startServer(store: string, port: number): Promise<Program> {
  const program = startProgram(SERVER, [store, String(port)]);
  await program.printed("listening on");
  return program;
}

async function kill(server: Program): Promise<void> {
  server.child.kill("SIGKILL");
  expect((await server.ended).signal).toBe("SIGKILL");
}

describe("kill -9 of the server under load", () => {
  test("loses no job that was answered with 201", async () => {
    const store = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
    const port = await freePort();
    let server = await startServer(store, port);
    const accepted: string[] = [];
    const enough = Promise.withResolvers<void>();
    let isOver = false;
    const producers = Array.from({ length: 16 }, async (_, producer) => {
      for (let index = 0; !isOver; index++) {
        try {
          const response = await fetch(`http://127.0.0.1:${port}/api/v1/jobs`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ type: "t", payload: `${producer}-${index}` }),
          });
          if (response.status === 201) accepted.push(((await response.json()) as { id: string }).id);
          if (accepted.length >= 500) enough.resolve();
        } catch {
          isOver = true; // the server is gone
        }
      }
    });
    await enough.promise;
    await kill(server);
    await Promise.all(producers);
    server = await startServer(store, port);
    await using client = await connect(`http://127.0.0.1:${port}`);
    const missing: string[] = [];
    await Promise.all(accepted.map(async (id) => (await client.get(id)) ?? missing.push(id)));
    expect(missing).toEqual([]);
    expect((await client.stats()).counts.pending).toBeGreaterThanOrEqual(accepted.length);
  });

  test("costs a worker elsewhere no attempt: every job runs once, also those that may run only once", async () => {
    const store = `sqlite:${join(temporaryFolder(), "jobs.db")}`;
    const port = await freePort();
    let server = await startServer(store, port);
    const client = await connect(`http://127.0.0.1:${port}`, { deadline: "60s", onTrouble: () => {} });
    onTestFinished(() => client.close({ grace: 0 }));
    const runs = new Map<number, number>();
    client.work({ t: async (n: number) => void runs.set(n, (runs.get(n) ?? 0) + 1) }, { concurrency: 20, lease: "10m" });
    const jobs: Promise<{ readonly id: string }>[] = [];
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < 200; index++) jobs.push(client.enqueue("t", jobs.length, { maxRetries: 0, timeout: 0 }));
      const before = runs.size;
      while (runs.size < before + 20) await new Promise((resolve) => setTimeout(resolve, 1));
      await kill(server);
      server = await startServer(store, port);
    }
    const ended = await Promise.all((await Promise.all(jobs)).map(({ id }) => client.wait(id, { timeout: "60s" })));
    expect(ended.filter(({ status }) => status !== "completed")).toEqual([]);
    expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
    expect(runs.size).toBe(600);
  });
});
