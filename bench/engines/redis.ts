import { openBareRedis } from "../bare/redis.ts";
import { beeQueue } from "../peers/bee-queue.ts";
import { bullmqOnRedis } from "../peers/bullmq.ts";
import { redisSite, redisSiteWithAof } from "../places/redis.ts";
import type { Engine } from "./engine.ts";

/** Without persistence, as other queues measure it; the cost of an append-only file is a separate line. */
export const redis: Engine = {
  name: "redis",
  openSite: redisSite,
  inFlight: 2,
  openBare: openBareRedis,
  peers: [
    { peer: bullmqOnRedis, asked: { enqueue: 8, drain: 6, pickUp: 1, bytes: 0.56 } },
    { peer: beeQueue, asked: { enqueue: 2.5, drain: 4.5, bytes: null } },
  ],
  jobs: { oneCaller: 2_000, callers: 100_000, many: 100_000, drainTen: 15_000, drainHundred: 100_000, both: 50_000, processes: 80_000 },
  asked: { http: { one: 0.5, many: 60_000 } },
  // A given server is used as it is: we cannot start a variant of it.
  variant: process.env["MILLRACE_TEST_REDIS"] ? null : { name: "AOF everysec", openSite: redisSiteWithAof },
  hasBytes: true,
  processes: "required",
};
