import { afterAll } from "vitest";
import { redisEngine, startRedis } from "../servers/redis.ts";
import { modelSuite } from "./model/model.ts";

const redis = redisEngine("redis", startRedis);
afterAll(() => redis.stop());

modelSuite(redis);
