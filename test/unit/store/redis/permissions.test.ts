import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../../../src/connect.ts";
import { type RedisServer, startRedis } from "../../../servers/redis.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** What docs/engines.md says a user needs. */
function documentedRules(): string[] {
  const page = readFileSync(new URL("../../../../docs/engines.md", import.meta.url), "utf8");
  return /the user needs `([^`]+)`/.exec(page)![1]!.split(" ");
}

test("W32: a user with the documented permissions, and no others, can do everything", async () => {
  const admin = new Redis(server.url);
  await admin.call("ACL", "SETUSER", "app", "on", ">secret", "resetkeys", "resetchannels", "-@all", ...documentedRules());
  await admin.quit();
  const troubles: string[] = [];
  const client = await connect(server.url.replace("//", "//app:secret@"), { onTrouble: ({ message }) => troubles.push(message) });
  const worker = client.work({ t: async () => 1 });
  const events = client.events()[Symbol.asyncIterator]();
  const heard = events.next();
  const { id } = await client.enqueue("t", 1, { idempotencyKey: "k" });
  expect((await client.wait(id, { timeout: "20s" }))?.status).toBe("completed");
  await client.configure("default", { limits: { running: 10, perKey: { running: 1, rate: "100/s" } } });
  const limited = await client.enqueue("t", 1, { limitKey: "customer" });
  expect((await client.wait(limited.id, { timeout: "20s" }))?.status).toBe("completed");
  await client.schedules.upsert({ name: "s", every: "1h", type: "t", payload: 1 });
  await client.pause("default");
  expect(await client.workers()).toHaveLength(1);
  expect((await client.list({ status: "completed" })).jobs).toHaveLength(2);
  expect(await heard).toMatchObject({ done: false });
  await events.return?.();
  await worker.stop();
  await client.close();
  expect(troubles).toEqual([]);
});
