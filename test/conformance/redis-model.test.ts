import { afterAll } from "vitest";
import { redisEngine, startRedis } from "../servers/redis.ts";
import { modelSuite, SERVER_RUNS } from "./model/model.ts";

const redis = redisEngine("redis", startRedis);
afterAll(() => redis.stop());

modelSuite(redis, SERVER_RUNS);
