import { openBareRedis } from "../bare/redis.ts";
import { beeQueue } from "../peers/bee-queue.ts";
import { bullmqOnRedis } from "../peers/bullmq.ts";
import { redisSite, redisSiteWithAof } from "../places/redis.ts";
import type { Engine } from "./engine.ts";

/** Without persistence, as other queues measure it; the cost of an append-only file is a separate line. */
export const redis: Engine = {
  name: "redis",
  title: "Redis",
  openSite: redisSite,
  inFlight: 2,
  openBare: openBareRedis,
  peers: [beeQueue, bullmqOnRedis],
  isShared: true,
  // A given server is used as it is: we cannot start a variant of it.
  variant: process.env["MILLRACE_TEST_REDIS"] ? null : { name: "AOF everysec", openSite: redisSiteWithAof },
};
