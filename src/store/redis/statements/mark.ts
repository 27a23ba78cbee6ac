import { TIME } from "./parts.ts";
import { plainScript, type Script } from "./script.ts";

/** Sets a mark, which vanishes by itself. In: now; time to live. */
export const MARK: Script = plainScript(
  "mark",
  TIME,
  `redis.call('SET', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), 'PX', ARGV[2])`,
);
