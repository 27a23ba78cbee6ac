import { idMaker } from "../../src/lib/id.ts";
import { longId, shortId } from "../../src/store/redis/ids.ts";
import { BUCKET } from "../../src/store/redis/layout.ts";
import { RECORDS, TIME } from "../../src/store/redis/statements/parts.ts";
import { parseRedisUrl } from "../../src/store/redis/url.ts";
import { openRedis } from "../places/redis.ts";
import { PAYLOAD } from "../payload.ts";
import { type Bare, bareQueue } from "./bare.ts";

/** In: (id and body) …, each in one argument. Bodies, the lane, and the lists that keep the order of creation. */
const INSERT = `${TIME}${RECORDS}
local total = #ARGV - 1
local first = redis.call('INCRBY', B .. 'v', total) - total
local head = pack('>I6BbI3', now, 0, 0, 1)
local bodies, lane, ids = {}, {}, {}
for i = 1, total do
  local id, seq = sub(ARGV[i + 1], 1, 22), pack('>I7', first + i)
  bodies[2 * i - 1], bodies[2 * i] = id, head .. seq .. sub(ARGV[i + 1], 23)
  lane[2 * i - 1], lane[2 * i] = now, seq .. id
  ids[i] = id
end
setJobs('${BUCKET.bodies}', bodies)
many('ZADD', B .. 'w:1', lane)
many('RPUSH', B .. 'i:' .. math.floor(first / 340), ids)
return total`;

/** In: limit, (sequence and id) of ended jobs. Out: (sequence and id, body) … of claimed jobs. */
const EXCHANGE = `${TIME}${RECORDS}
local limit, held, ended, ids, records = tonumber(ARGV[2]), {}, {}, {}, {}
for i = 1, #ARGV - 2 do
  held[i] = ARGV[i + 2]
  ids[i] = sub(held[i], 8)
  ended[2 * i - 1] = ids[i]
  ended[2 * i] = pack(F, 4, 4, 0, 1, i, 1, 1, 0, 0, now, now, now, now, 1, 9, 1, 0, 0, 6, 0, 0) .. 'w-barenull'
end
many('ZREM', B .. 'r', held)
setJobs('${BUCKET.records}', ended)
many('RPUSH', B .. 'e:default', ids)
if limit == 0 then return {} end
local taken, leases, answer, bodies = redis.call('ZRANGE', B .. 'w:1', 0, limit - 1), {}, {}, {}
if #taken == 0 then return {} end
redis.call('ZREMRANGEBYRANK', B .. 'w:1', 0, #taken - 1)
for i, member in ipairs(taken) do
  bodies[i] = sub(member, 8)
  leases[2 * i - 1], leases[2 * i] = now + 30000, member
  records[2 * i - 1] = bodies[i]
  records[2 * i] = pack(F, 3, 0, 0, 1, i, 1, 1, 0, 0, now, now, now, now + 30000, -1, 0, 1, 0, 0, 6, 0, 0) .. 'w-bare'
end
setJobs('${BUCKET.records}', records)
many('ZADD', B .. 'r', leases)
for i, body in ipairs(getJobs('${BUCKET.bodies}', bodies)) do
  answer[2 * i - 1], answer[2 * i] = taken[i], body
end
return answer`;

const HEAD_BYTES = 18;

/** Two plain scripts on the engine's own keys and packed forms, on one connection that sends all calls of one tick together. */
export async function openBareRedis({ url }: { readonly url: string }): Promise<Bare> {
  const redis = openRedis(url);
  const base = `${parseRedisUrl(url).prefix}:{0}:v`;
  const load = async (text: string): Promise<string> => (await redis.script("LOAD", text)) as string;
  const [insertSha, exchangeSha] = await Promise.all([load(INSERT), load(EXCHANGE)]);
  const newId = idMaker(() => Date.now());

  const insert = (size: number): Promise<unknown> => {
    const jobs = Array.from({ length: size }, () => `${shortId(newId(0))}\n${JSON.stringify(PAYLOAD)}`);
    return redis.evalsha(insertSha, 1, base, "", ...jobs);
  };
  const exchange = async (held: readonly Buffer[], limit: number): Promise<readonly Buffer[]> => {
    const answer = (await redis.callBuffer("EVALSHA", exchangeSha, 1, base, "", limit, ...held)) as Buffer[];
    const claimed: Buffer[] = [];
    for (let at = 0; at < answer.length; at += 2) {
      longId(answer[at]!.subarray(7));
      JSON.parse(answer[at + 1]!.toString("utf8", HEAD_BYTES + 1));
      claimed.push(answer[at]!);
    }
    return claimed;
  };
  return bareQueue({ inFlight: 2, insert, exchange, close: async () => redis.disconnect() });
}
