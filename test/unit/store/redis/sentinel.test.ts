import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../../../src/connect.ts";
import { startSentinel } from "../../../servers/redis.ts";

test("jobs go on after the Sentinel has made the replica the master, and workers are told of new ones", { timeout: 90_000 }, async () => {
  const servers = await startSentinel();
  onTestFinished(() => servers.stop());
  const client = await connect(servers.url, { deadline: "60s" });
  onTestFinished(() => client.close());
  const worker = client.work({ add: async ({ a, b }: { a: number; b: number }) => a + b });
  onTestFinished(() => worker.stop());
  // The application's own connection reads from the replica, and gives up at once.
  const { hostname: host, port } = new URL(servers.url);
  const own = new Redis({
    sentinels: [{ host, port: Number(port) }],
    name: "main",
    role: "slave",
    sentinelRetryStrategy: () => null,
    lazyConnect: true,
  });
  const other = await connect({ redis: own }, { deadline: "60s" });
  onTestFinished(() => other.close());
  const run = async (): Promise<unknown> => {
    const { id } = await other.enqueue("add", { a: 1, b: 2 });
    return (await client.wait(id, { timeout: "60s" })).result;
  };
  expect(await run()).toBe(3);
  await servers.killMaster();
  expect(await run()).toBe(3);
});
