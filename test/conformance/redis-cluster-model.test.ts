import { afterAll } from "vitest";
import { redisEngine, startRedisCluster } from "../servers/redis.ts";
import { modelSuite, SERVER_RUNS } from "./model/model.ts";

const cluster = redisEngine("a Redis Cluster", startRedisCluster);
afterAll(() => cluster.stop());

modelSuite(cluster, SERVER_RUNS);
