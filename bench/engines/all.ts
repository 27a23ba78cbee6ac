import type { Engine } from "./engine.ts";
import { memory } from "./memory.ts";
import { postgres } from "./postgres.ts";
import { redis } from "./redis.ts";
import { sqlite } from "./sqlite.ts";

export const ENGINES: readonly Engine[] = [memory, sqlite, postgres, redis];
