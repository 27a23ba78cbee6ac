/** One node of a Cluster is killed and stays away: what is on the others goes on. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/connect.ts";
import type { Client, Context } from "../../src/client/client.ts";
import type { Trouble } from "../../src/core/trouble.ts";
import { partitionOf } from "../../src/core/partition.ts";
import { Keys } from "../../src/store/redis/keys.ts";
import { admin, type RedisCluster, startRedisCluster } from "../servers/redis.ts";
import { until } from "./until.ts";

/** What every process needs, whatever its queues are. */
const shared = ({ queues, forms, workers, schedules, schedulePartitions }: Keys): string[] => {
  return [queues, forms, workers, schedules, schedulePartitions];
};

/** Of the three nodes, each has a third of the slots, in order. */
async function nodeOf(key: string): Promise<number> {
  const slot = await admin(cluster.ports[0]!, (redis) => redis.cluster("KEYSLOT", key));
  return Math.floor((slot * cluster.ports.length) / 16_384);
}

/** A prefix whose shared keys are not on the last node. */
async function prefixBesideLast(): Promise<string> {
  for (;;) {
    const prefix = `t-${randomBytes(6).toString("hex")}`;
    const nodes = await Promise.all(shared(new Keys(prefix)).map(nodeOf));
    if (!nodes.includes(2)) return prefix;
  }
}

/** Names of queues on this node, each in a partition of its own. */
async function queuesOn(node: number, count: number): Promise<string[]> {
  const names: string[] = [];
  for (let n = 0; names.length < count; n++) {
    const name = `queue-${n}`;
    const isNew = names.every((other) => partitionOf(other) !== partitionOf(name));
    if (isNew && (await nodeOf(`{${partitionOf(name)}}`)) === node) names.push(name);
  }
  return names;
}

let cluster: RedisCluster;
let client: Client;
beforeAll(async () => {
  cluster = await startRedisCluster({ isPartial: true });
  client = await connect(`${cluster.url}&prefix=${await prefixBesideLast()}`, { onTrouble: (trouble) => void troubles.push(trouble) });
}, 60_000);
afterAll(async () => {
  await client.close();
  await cluster.stop();
});
const troubles: Trouble[] = [];

test("sleeps, calls, retries and lost leases of the other nodes go on, and the missing node is reported", { timeout: 60_000 }, async () => {
  const [parents, leases] = (await queuesOn(0, 2)) as [string, string];
  const [children] = (await queuesOn(1, 1)) as [string];
  const away = await queuesOn(2, 20);
  for (const queue of away) await client.enqueue("away", null, { queue, delay: "1h" });
  const queues = [leases, away[1]!];
  for (const queue of queues) await client.enqueue("running", null, { queue });
  const claim = { workerId: "vanished", queues, types: "*", limit: 2, leaseMs: 60_000, turn: 1, again: false } as const;
  const { jobs: running } = await client.leases.exchange([], { ...claim, types: ["running"] });
  expect(running.map(({ job }) => job.queue)).toEqual(queues);
  await cluster.kill(cluster.ports[2]!);

  // Steps that are stored together.
  const step = { name: "a", kind: "step", state: "done", value: "1", untilMs: null, detail: null } as const;
  const ended: string[] = [];
  const keeping = running.map(async ({ job: { id, queue }, fence }) => {
    const answer = await client.leases.keepSteps({ id, fence, steps: [step] }).catch(({ code }: { code: string }) => code);
    ended.push(queue);
    return answer;
  });
  expect(await keeping[0]).toBe("ok");
  expect(ended).toEqual([leases]);

  const failed = new Set<string>();
  client.work(
    {
      parent: async (_: unknown, ctx: Context) => {
        await ctx.sleep("nap", "50ms");
        const values = await Promise.all([1, 2].map((n) => ctx.call(`child ${n}`, "child", n, { queue: children })));
        if (!failed.has(ctx.job.id)) {
          failed.add(ctx.job.id);
          throw new Error("once");
        }
        return values;
      },
      child: (payload: unknown) => payload,
      // Its call leaves a notice that cannot be delivered, and must not hold up others.
      stranded: (_: unknown, ctx: Context) => ctx.call("away", "away", null, { queue: away[0]! }),
    },
    { queues: [parents, children], concurrency: 5 },
  );
  const stranded = await client.enqueue("stranded", null, { queue: parents });
  await until(async () => (await client.get(stranded.id))?.status === "blocked");

  // The lease of a worker that vanished runs out.
  const lost = await client.enqueue("lost", null, { queue: leases });
  const short = { ...claim, queues: [leases], limit: 1, leaseMs: 1000, turn: 2 };
  expect((await client.leases.exchange([], short)).jobs).toHaveLength(1);

  for (let round = 0; round < 5; round++) {
    const { id } = await client.enqueue("parent", null, { queue: parents, maxRetries: 1, retryDelay: "10ms" });
    expect(await client.wait(id, { timeout: "20s" })).toMatchObject({ status: "completed", result: [1, 2], retryCount: 1 });
  }
  await until(async () => (await client.get(lost.id))?.lostCount === 1);
  expect(await keeping[1]).toBe("store_unavailable");
  await until(() => troubles.some(({ kind }) => kind === "upkeep"));
});
