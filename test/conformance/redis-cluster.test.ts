import { afterAll } from "vitest";
import { redisEngine, startRedisCluster } from "../servers/redis.ts";
import { storeSuite } from "./store/suite.ts";

const cluster = redisEngine("a Redis Cluster", startRedisCluster);
afterAll(() => cluster.stop());

storeSuite(cluster);
