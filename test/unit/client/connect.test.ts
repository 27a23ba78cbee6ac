import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { prepareBackground } from "../../../src/assembly/background.ts";
import type { Client } from "../../../src/client/client.ts";
import { clientOver } from "../../../src/assembly/client-over.ts";
import { connect, type Trouble } from "../../../src/connect.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { openClient, START } from "./open-client.ts";

async function open(url: string, options?: Parameters<typeof connect>[1]): Promise<Client> {
  const client = await connect(url, options);
  onTestFinished(() => client.close());
  return client;
}

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-connect-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "jobs.db");
}

describe("connect", () => {
  test.each([
    ["ftp://x", "url"],
    ["", "url"],
    [undefined, "url"],
    [null, "url"],
    [{}, "url"],
    ["app.db", "url"],
    [5, "url"],
  ])("refuses the URL %j", async (url, field) => {
    await expect(connect(url as string)).rejects.toMatchObject({ code: "invalid_input", field });
  });

  test.each([
    [undefined, "undefined"],
    [null, "null"],
    ["", "empty"],
  ])("says for the URL %j that a variable may not be set, and opens nothing", async (url, what) => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const before = process.cwd();
    process.chdir(folder);
    onTestFinished(() => process.chdir(before));
    await expect(connect(url as string)).rejects.toThrow(`the URL given to connect is ${what}. Is an environment variable not set?`);
    expect(readdirSync(folder)).toEqual([]);
    await (await connect()).close();
    expect(readdirSync(folder)).toContain("millrace.db");
  });

  test.each([
    [{ deadline: "soon" }, "deadline"],
    [{ deadline: 0 }, "deadline"],
    [{ poolSize: 0 }, "poolSize"],
    [{ poolSize: 2.5 }, "poolSize"],
    [{ defaults: { priority: 1000 } }, "priority"],
    [{ apiKey: "x" }, "apiKey"],
  ])("refuses the options %j", async (options, field) => {
    await expect(connect("memory:", options as never)).rejects.toMatchObject({ code: "invalid_input", field });
  });

  test("keeps jobs in a file: another client finds them, and its worker runs them", async () => {
    const url = `sqlite:${newFile()}`;
    const producer = await connect(url);
    const { id } = await producer.enqueue("t", { a: 1 });
    await producer.close();
    const client = await open(url);
    client.work({ t: async (payload: { a: number }) => payload.a + 1 });
    expect(await client.wait(id)).toMatchObject({ status: "completed", result: 2 });
  });

  test("is woken by the end of a job in another client of the file", async () => {
    const url = `sqlite:${newFile()}`;
    const [producer, worker] = [await open(url), await open(url)];
    worker.work({ t: async () => "done" });
    const { id } = await producer.enqueue("t");
    expect((await producer.wait(id)).result).toBe("done");
  });
});

describe("a clock of the caller's own", () => {
  test("is the only one that a file goes by: no thread renews leases by another", async () => {
    const threads: unknown[] = [];
    const remember = (thread: unknown): void => void threads.push(thread);
    process.on("worker", remember);
    onTestFinished(() => void process.off("worker", remember));
    const behind: Clock = { ...systemClock, now: () => Date.now() - 3_600_000 };
    const client = await open(`sqlite:${newFile()}`, { clock: behind });
    client.work({ t: () => new Promise<void>((resolve) => setTimeout(resolve, 1500)) }, { lease: "1s" });
    const { id } = await client.enqueue("t");
    expect(await client.wait(id)).toMatchObject({ status: "completed", attempt: 1 });
    expect((await client.enqueue("t")).createdAt).toBeLessThan(Date.now() - 3_500_000);
    expect(threads).toEqual([]);
  });
});

describe("two clients of one process", () => {
  test("make ids that rise over both", async () => {
    const [one, other] = [await open("memory:"), await open("memory:")];
    const ids: string[] = [];
    for (let round = 0; round < 20; round++) for (const client of [one, other]) ids.push((await client.enqueue("t")).id);
    expect(ids.toSorted()).toEqual(ids);
  });
});

describe("a transaction of the caller's own", () => {
  test("takes the jobs along when it commits, and leaves nothing when it rolls back", async () => {
    const path = newFile();
    const client = await open(`sqlite:${path}`);
    const db = new DatabaseSync(path);
    onTestFinished(() => db.close());
    db.exec("begin immediate");
    const job = await client.enqueue("one", { a: 1 }, { tx: db, idempotencyKey: "k" });
    const many = await client.enqueueMany([{ type: "two" }, { type: "three" }], { tx: db });
    expect(await client.get(job.id)).toBeNull();
    db.exec("commit");
    expect(many.every((result) => result.ok)).toBe(true);
    expect((await client.list()).jobs.map(({ type }) => type)).toEqual(["three", "two", "one"]);
    expect(await client.get(job.id)).toMatchObject({ payload: { a: 1 }, status: "pending" });

    db.exec("begin immediate");
    await client.enqueue("never", null, { tx: db });
    db.exec("rollback");
    expect((await client.list({ type: "never" })).jobs).toEqual([]);
  });

  test("takes a flow along, and knows its key before it commits", async () => {
    const path = newFile();
    const client = await open(`sqlite:${path}`);
    const db = new DatabaseSync(path);
    onTestFinished(() => db.close());
    const members = [
      { name: "a", type: "task" },
      { name: "b", type: "task", after: "a" },
    ];
    db.exec("begin immediate");
    const flow = await client.flow(members, { tx: db, key: "k" });
    expect(await client.flow(members, { tx: db, key: "k" })).toEqual({ ...flow, created: false });
    expect(await client.flows.get(flow.id)).toBeNull();
    db.exec("commit");
    client.work({ task: (_, ctx) => ctx.flow.name });
    expect(await client.flows.wait(flow.id)).toMatchObject({ status: "completed", members: 2, completed: 2 });
    expect(await client.get(flow.jobs.b!)).toMatchObject({ result: "b" });

    db.exec("begin immediate");
    await client.flow(members, { tx: db });
    db.exec("rollback");
    expect((await client.flows.list()).flows.map(({ id }) => id)).toEqual([flow.id]);
  });

  test("hears the first error of many as its own", async () => {
    const path = newFile();
    const client = await open(`sqlite:${path}`);
    await client.enqueue("pay", 1, { idempotencyKey: "k" });
    const db = new DatabaseSync(path);
    onTestFinished(() => db.close());
    db.exec("begin immediate");
    await expect(client.enqueueMany([{ type: "a" }, { type: "b", priority: 1000 }], { tx: db })).rejects.toMatchObject({
      field: "priority",
    });
    await expect(client.enqueueMany([{ type: "a" }, { type: "pay", payload: 2, idempotencyKey: "k" }], { tx: db })).rejects.toMatchObject({
      code: "key_conflict",
    });
    db.exec("rollback");
    expect((await client.list({ type: "a" })).jobs).toEqual([]);
  });

  test("is refused when it is none", async () => {
    const path = newFile();
    const client = await open(`sqlite:${path}`);
    const db = new DatabaseSync(path);
    onTestFinished(() => db.close());
    for (const tx of [db, {}, "tx"]) await expect(client.enqueue("t", null, { tx })).rejects.toMatchObject({ code: "invalid_transaction" });
  });
});

describe("upkeep", () => {
  test("runs in a process that has a worker, and in no other", async () => {
    const { client, clock } = await openClient();
    const { id } = await client.enqueue("later", null, { delay: "1s" });
    await clock.advance("5s");
    expect((await client.get(id))?.status).toBe("scheduled");
    const worker = client.work({ other: async () => {} });
    await clock.settle();
    expect((await client.get(id))?.status).toBe("pending");
    await worker.stop();
  });

  test("lets the workers of this process renew their leases before it takes one for lost", async () => {
    const clock = new VirtualClock(START);
    const store = await openStore("memory:", { clock });
    const client = clientOver(store, { clock, random: () => 0.5 });
    let go: () => void = () => {};
    client.work({ slow: () => new Promise<void>((resolve) => (go = resolve)) }, { lease: "3s" });
    const { id } = await client.enqueue("slow");
    await clock.settle();
    // As after a SIGSTOP: the lease has long run out, no beat came through, and upkeep is the first to look.
    const extend = store.extend.bind(store);
    store.extend = async (leases) => leases.map(() => "ok" as const);
    await clock.advance(4990);
    store.extend = extend;
    await clock.advance(20);
    expect(await client.get(id)).toMatchObject({ status: "running", attempt: 1 });
    go();
    await clock.settle();
    expect(await client.get(id)).toMatchObject({ status: "completed", attempt: 1 });
    await client.close();
  });

  test("that fails is told as trouble, once a minute for each duty", async () => {
    const troubles: Trouble[] = [];
    const { client, store, clock } = await openClient({ onTrouble: (trouble) => troubles.push(trouble) });
    store.promote = () => Promise.reject(new Error("disk on fire"));
    client.work({ t: async () => {} });
    await clock.advance("59s");
    expect(troubles).toMatchObject([{ kind: "upkeep", message: "the upkeep duty promote failed and keeps trying: disk on fire" }]);
    await clock.advance("2s");
    expect(troubles).toHaveLength(2);
  });

  test("by a store that is away is one line for all duties, and workers of a server are named", async () => {
    const told: string[] = [];
    const { client, store, clock } = await openClient({ onTrouble: ({ message }) => told.push(message) });
    const away = (): Promise<never> => Promise.reject(new MillraceError("store_unavailable", "away"));
    for (const verb of ["promote", "expired", "dueSchedules", "prune", "queues", "exchange"]) Object.assign(store, { [verb]: away });
    prepareBackground(client, { secrets: undefined, allow: undefined, work: {} })();
    await clock.advance("30s");
    expect(told.sort()).toEqual([
      "the worker for http:request cannot reach the store and keeps trying: away",
      "the worker for webhooks cannot reach the store and keeps trying: away",
      "upkeep failed and keeps trying: away",
    ]);
  });
});

describe("a place that connect does not know", () => {
  test("is refused with the URLs that there are", async () => {
    await expect(connect("mysql://x")).rejects.toMatchObject({
      message: 'url must begin with memory:, sqlite:, postgres:, redis:, rediss:, redis+sentinel:, http: or https:; got "mysql"',
    });
  });

  test.each([
    ["{ sqlite: db }", () => new DatabaseSync(":memory:")],
    ["{ pg: pool }", () => new Pool()],
    ["{ redis: ioredis }", () => new Redis({ lazyConnect: true })],
  ])("is asked about if it is a bare connection: %s", async (meant, open) => {
    await expect(connect(open() as never)).rejects.toMatchObject({
      field: "url",
      message: expect.stringContaining(`did you mean ${meant}?`) as string,
    });
  });
});

test("an unknown field of a schedule is refused with the fields that a caller may give", async () => {
  await using client = await connect("memory:");
  const refused = client.schedules.upsert({ name: "s", every: "1h", type: "t", colour: 1 } as never);
  await expect(refused).rejects.toMatchObject({ message: expect.stringMatching(/known fields: name, job, type, (?!.*unset)/) as string });
});

describe("webhookAllow", () => {
  const hook = { webhookUrl: "http://10.1.2.3/hook" };
  const request = { url: "http://10.1.2.3/" };

  test("opens private addresses to webhooks and http:request, and nothing beyond", async () => {
    await using closed = await connect("memory:");
    await expect(closed.enqueue("t", null, hook)).rejects.toMatchObject({
      code: "invalid_input",
      field: "webhookUrl",
      message: "webhookUrl points to a private address (10.1.2.3). To allow it, set WEBHOOK_ALLOW (in code: webhookAllow)",
    });
    await expect(closed.enqueue("t", null, { webhookUrl: "http://localhost:8080/" })).rejects.toMatchObject({
      message:
        "webhookUrl points to a loopback address (localhost is 127.0.0.1, and may also be ::1). To allow it, set WEBHOOK_ALLOW to 127.0.0.1,::1 (in code: webhookAllow)",
    });
    await expect(closed.schedules.upsert({ name: "s", every: "1h", type: "t", ...hook })).rejects.toMatchObject({ field: "webhookUrl" });
    await using open = await connect("memory:", { webhookAllow: ["10.1.0.0/16"] });
    expect(await open.enqueue("t", null, hook)).toMatchObject({ created: true });
    expect(await open.enqueue("http:request", request)).toMatchObject({ created: true });
    expect(await open.schedules.upsert({ name: "s", every: "1h", type: "t", ...hook })).toMatchObject(hook);
    await expect(open.enqueue("t", null, { webhookUrl: "http://10.2.0.1/" })).rejects.toMatchObject({ field: "webhookUrl" });
  });

  test.each([["10.0.0.0/8"], ["not an address"], [["10.0.0.0/99"]], [[7]]])(
    "that is %j is refused before there is a store, unless it is right",
    async (allow) => {
      await expect(connect("memory:", { webhookAllow: allow as never })).rejects.toMatchObject({
        code: "invalid_input",
        field: "webhookAllow",
      });
    },
  );
});
