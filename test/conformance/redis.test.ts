import { afterAll } from "vitest";
import { redisEngine, startRedis } from "../servers/redis.ts";
import { storeSuite } from "./store/suite.ts";

const redis = redisEngine("redis", startRedis);
afterAll(() => redis.stop());

storeSuite(redis);
