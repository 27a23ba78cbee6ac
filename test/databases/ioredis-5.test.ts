/** The peer ioredis 5: its oldest version that we take, and its newest. All other tests run on ioredis 6. */
import type { Cluster, Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { connect } from "../../src/connect.ts";
import { startRedis, startRedisCluster } from "../servers/redis.ts";

interface Ioredis {
  readonly Redis: typeof Redis;
  readonly Cluster: typeof Cluster;
}

const VERSIONS = ["ioredis-5.4", "ioredis-5"];
const load = async (name: string): Promise<Ioredis> => (await import(name)) as Ioredis;

async function open(redis: Redis | Cluster): Promise<Client> {
  const client = await connect({ redis }, { deadline: "30s" });
  onTestFinished(async () => {
    await client.close();
    redis.disconnect();
  });
  const worker = client.work({ add: async ({ a, b }: { a: number; b: number }) => a + b });
  onTestFinished(() => worker.stop());
  return client;
}

async function run(client: Client): Promise<unknown> {
  const { id } = await client.enqueue("add", { a: 1, b: 2 });
  return (await client.wait(id, { timeout: "30s" })).result;
}

test.for(VERSIONS)("%s: jobs run, also after the server was killed and started again", async (version) => {
  const lib = await load(version);
  const server = await startRedis({ appendOnly: "always" });
  onTestFinished(() => server.stop());
  const redis = new lib.Redis(server.port, "127.0.0.1", { lazyConnect: true });
  const client = await open(redis);
  expect(await run(client)).toBe(3);
  await server.kill();
  const waiting = run(client);
  await server.restart();
  expect(await waiting).toBe(3);
});

test.for(VERSIONS)("%s: jobs run on a Cluster", async (version) => {
  const lib = await load(version);
  const servers = await startRedisCluster();
  onTestFinished(() => servers.stop());
  const cluster = new lib.Cluster(servers.ports.map((port) => ({ host: "127.0.0.1", port })));
  cluster.on("error", () => {});
  expect(await run(await open(cluster))).toBe(3);
});

test.for(VERSIONS)("%s: a Cluster that asks for a password gets the one of the application", async (version) => {
  const lib = await load(version);
  const servers = await startRedisCluster();
  onTestFinished(() => servers.stop());
  const nodes = servers.ports.map((port) => ({ host: "127.0.0.1", port }));
  for (const { port } of nodes) {
    const node = new lib.Redis(port, "127.0.0.1");
    await node.config("SET", "requirepass", "secret");
    node.disconnect();
  }
  const cluster = new lib.Cluster(nodes, { redisOptions: { password: "secret" } });
  cluster.on("error", () => {});
  expect(await run(await open(cluster))).toBe(3);
});
