import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { buildDashboard } from "../../scripts/build-dashboard.ts";
import { connect } from "../../src/index.ts";
import { freePort } from "../servers/free-port.ts";
import { compileNestPrograms, frameworkFiles, writeFrameworkPrograms } from "./framework-programs.ts";
import { type Program, startProgram, temporaryFolder } from "./run-program.ts";

// The programs of docs/frameworks.md with the real packages of their frameworks, all in one process; but those for NestJS in processes of their own,
// because NestJS ends its process by the signal that it got.

const root = fileURLToPath(new URL("../../", import.meta.url));
const SIGNED_IN = { cookie: "session=session-of-ann" };
const MOUNT = "/admin/jobs";

const NEST = "nest/main.ts";
const NEXT_PARTS = /^next\/(?!app\/admin)/;
const others = frameworkFiles.map(({ file }) => file).filter((file) => !/^(sign-in|nest\/)/.test(file) && !NEXT_PARTS.test(file));
const NEST_ON_FASTIFY = "nest/main-fastify.ts";
const programs = [NEST, NEST_ON_FASTIFY, ...others];

const tidyUp: (() => void)[] = [];
const ports = new Map<string, number>();
let folder: string;
let running: Program;
let nest: Program;
let nestOnFastify: Program;

beforeAll(async () => {
  await buildDashboard();
  folder = temporaryFolder((tidy) => tidyUp.push(tidy));
  writeFrameworkPrograms(folder, root);
  for (const file of programs) ports.set(file, await freePort());
  running = start(others);
  await compileNestPrograms(folder);
  nest = start([NEST]);
  nestOnFastify = start([NEST_ON_FASTIFY]);
  await Promise.all([running, nest, nestOnFastify].map((program) => program.printed("all are loaded")));
});

/** In one process. Those for NestJS as compiled. */
function start(files: readonly string[], url?: string): Program {
  const args = files.map((file) => ({ file: join(folder, file.replace(/^(nest\/.*)\.ts$/, "$1.js")), port: ports.get(file), url }));
  return startProgram(join(root, "test/e2e/programs/frameworks.ts"), [JSON.stringify(args)], {
    cwd: folder,
    atTheEnd: (tidy) => tidyUp.unshift(tidy),
  });
}

afterAll(() => tidyUp.forEach((tidy) => tidy()));

function at(file: string, path: string): string {
  return `http://127.0.0.1:${ports.get(file)}${path}`;
}

type Init = Omit<RequestInit, "headers"> & { readonly headers?: Readonly<Record<string, string>> };

async function send(file: string, path: string, init: Init = {}): Promise<Response> {
  return fetch(at(file, MOUNT + path), { redirect: "manual", ...init, headers: { ...SIGNED_IN, ...init.headers } });
}

function enqueue(file: string): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return send(file, "/api/v1/jobs", { method: "POST", headers, body: '{"type":"order:confirm","payload":{"order":7}}' });
}

describe.each(programs)("%s", (file) => {
  test("leads to the dashboard from its root, and serves its page and files", async () => {
    for (const slash of ["", "/"]) {
      const response = await send(file, slash);
      expect(response.status).toBe(302);
      expect(new URL(response.headers.get("location")!, response.url).pathname).toBe(`${MOUNT}/dashboard`);
    }
    const page = await send(file, "/dashboard");
    expect(page.status).toBe(200);
    const html = await page.text();
    const base = new URL(/<base href="([^"]+)"/.exec(html)![1]!, page.url);
    const script = new URL(/<script[^>]+src="([^"]*assets[^"]+)"/.exec(html)![1]!, base);
    expect(script.pathname).toMatch(/^\/admin\/jobs\/dashboard\/assets\//);
    expect((await fetch(script)).headers.get("content-type")).toContain("javascript");
  });

  test("takes jobs from those who are signed in to the application, and knows their name", async () => {
    const made = await enqueue(file);
    expect(made.status).toBe(201);
    const { id } = (await made.json()) as { id: string };
    expect(await (await send(file, `/api/v1/jobs/${id}`)).json()).toMatchObject({ payload: { order: 7 } });
    for (const change of ["/api/v1/queues/default/pause", `/api/v1/jobs/${id}/cancel`])
      expect((await send(file, change, { method: "POST" })).status).toBe(200);
    const { entries } = (await (await send(file, "/api/v1/audit")).json()) as { entries: { by: string }[] };
    expect(entries).toMatchObject([{ by: "ann" }, { by: "ann" }]);
    expect(await (await send(file, "/dashboard/session")).json()).toEqual({ user: "ann", role: "operator", sign_in: "application" });
    expect((await send(file, "/api/v1/queues", { headers: { cookie: "session=nobody" } })).status).toBe(401);
  });

  test("leaves other paths to the application", async () => {
    for (const path of ["/nowhere", `${MOUNT}earch`]) {
      const response = await fetch(at(file, path));
      expect(response.status).toBe(404);
      expect(response.headers.get("content-type")).not.toBe("application/problem+json");
    }
    const inside = await send(file, "/nowhere");
    expect([inside.status, inside.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });

  test("has metrics, and runs what every server runs", async () => {
    expect(await (await send(file, "/metrics")).text()).toContain("millrace_http_requests_total");
    const { workers } = (await (await send(file, "/api/v1/workers?internal=true")).json()) as { workers: { types: string[] }[] };
    expect(workers.flatMap(({ types }) => types).sort()).toEqual(["http:request", "millrace:webhook"]);
  });

  test("streams events", async () => {
    const stream = await send(file, "/api/v1/events");
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    onTestFinished(() => reader.cancel());
    let text = "";
    // The first text comes at once, so that the stream is open.
    text += (await reader.read()).value;
    await enqueue(file);
    while (!text.includes("event: job:created")) text += (await reader.read()).value;
  });
});

// Next.js passes no upgrades on, and its part of the page says so.
test.each(programs.filter((file) => !file.startsWith("next/")))("%s opens WebSockets for those who are signed in", async (file) => {
  const url = at(file, `${MOUNT}/api/v1/ws`).replace("http", "ws");
  const refused = new WebSocket(url);
  const answer = await new Promise<string>((resolve) => refused.once("error", ({ message }) => resolve(message)));
  expect(answer).toContain("401");
  const socket = new WebSocket(url, { headers: SIGNED_IN });
  onTestFinished(() => socket.terminate());
  const message = new Promise<string>((resolve) => socket.once("message", (data: Buffer) => resolve(data.toString())));
  await new Promise((resolve) => socket.once("open", resolve));
  await enqueue(file);
  expect(JSON.parse(await message)).toMatchObject({ event: "job:created", type: "order:confirm" });
});

describe("the module for NestJS", () => {
  test.each([NEST, NEST_ON_FASTIFY])("gives controllers and providers the client, and runs no job without a worker: %s", async (file) => {
    const headers = { "content-type": "application/json" };
    const placed = await fetch(at(file, "/orders"), { method: "POST", headers, body: '{"order":8}' });
    expect(placed.status).toBe(202);
    const { id } = (await placed.json()) as { id: string };
    const job = await (await send(file, `/api/v1/jobs/${id}`)).json();
    expect(job).toMatchObject({ type: "order:confirm", payload: { order: 8 }, status: "pending", max_retries: 5 });
  });

  test("runs jobs in the worker's process, and stops the worker on SIGTERM", async () => {
    const url = `sqlite:${join(folder, "orders.db")}`;
    await using client = await connect(url);
    const worker = start(["nest/worker.ts"], url);
    const { id } = await client.enqueue("order:confirm", { order: 9 });
    expect(await client.wait(id)).toMatchObject({ status: "completed", result: { confirmed: 9 } });
    expect(await client.workers()).toMatchObject([{ types: ["order:confirm"], slots: 20 }]);
    await worker.printed("all are loaded");
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: null, signal: "SIGTERM" });
    expect(worker.output.stderr).toBe("");
    expect(await client.formerWorkers()).toMatchObject([{ end: "stopped" }]);
  });

  test("runs the jobs of two stores, each with its own handlers", async () => {
    const url = `sqlite:${join(folder, "two-stores.db")}`;
    await using client = await connect(url);
    const program = start(["nest/two-stores.ts"], url);
    const { id } = await client.enqueue("order:confirm", { order: 10 });
    expect(await client.wait(id)).toMatchObject({ status: "completed" });
    // The handler of the other store enqueues it here.
    await expect.poll(async () => (await client.list({ type: "order:close" })).jobs).toMatchObject([{ status: "pending" }]);
    await program.printed("all are loaded");
    program.child.kill("SIGTERM");
    expect(await program.ended).toEqual({ code: null, signal: "SIGTERM" });
    expect(program.output.stderr).toBe("");
  });

  test("the test of the page passes", async () => {
    const program = start(["nest/orders.test.ts"]);
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.output.stderr).toBe("");
  });

  test.each([NEST, NEST_ON_FASTIFY])("ends on SIGTERM while somebody follows the events: %s", async (file) => {
    const program = file === NEST ? nest : nestOnFastify;
    const stream = await send(file, "/api/v1/events");
    program.child.kill("SIGTERM");
    expect(await program.ended).toEqual({ code: null, signal: "SIGTERM" });
    expect(program.output.stderr).toBe("");
    await stream.text();
  });
});

describe("Next.js", () => {
  test("its worker runs jobs in a process of its own, and stops on SIGTERM", async () => {
    const url = `sqlite:${join(folder, "next.db")}`;
    await using client = await connect(url);
    const worker = start(["next/worker.ts"], url);
    const { id } = await client.enqueue("order:confirm", { order: 11 });
    expect(await client.wait(id)).toMatchObject({ status: "completed", result: { confirmed: 11 } });
    await worker.printed("all are loaded");
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: 0, signal: null });
    expect(worker.output.stderr).toBe("");
  });
});

test("instrumentation.ts of Next.js opens client and server before the first request, so schedules fire", async () => {
  const url = `sqlite:${join(folder, "next-schedules.db")}`;
  await using client = await connect(url);
  await client.schedules.create({ name: "often", every: "1s", type: "order:close" });
  const program = start(["next/instrumentation.ts"], url);
  await program.printed("all are loaded");
  await expect.poll(async () => (await client.list({ type: "order:close" })).jobs, { timeout: 15_000 }).not.toEqual([]);
  program.child.kill("SIGTERM");
  expect(await program.ended).toEqual({ code: 0, signal: null });
  expect(program.output.stderr).toBe("");
});

test("all others end by themselves on SIGTERM, and none has complained", async () => {
  running.child.kill("SIGTERM");
  expect(await running.ended).toEqual({ code: 0, signal: null });
  expect(running.output.stderr).toBe("");
});
