/** Limits over HTTP. */
import type { Limits } from "../../client/client.ts";
import { invalid, MillraceError } from "../../core/errors.ts";
import { MAX_ASKED_KEYS, readOneKeyLimits } from "../../core/limits.ts";
import { readCreate } from "../../core/queue.ts";
import { isName, NAME_RULE, readFields } from "../../core/read-fields.ts";
import { readLimitKey } from "../../core/read-text.ts";
import { fromKeyUseWire, fromUseWire } from "../wire/limits.ts";
import { changeQuery } from "./change-query.ts";
import { queryOf } from "./queries.ts";
import { orNull } from "./schedules.ts";
import type { Transport } from "./transport.ts";
import { wireText } from "./wire-text.ts";

export function createRemoteLimits(transport: Transport): Limits {
  const useOfKey = async (queue: string, key: string) => {
    const asked = { params: { queue, key }, repeatable: true };
    return orNull(transport.ask("GET /api/v1/queues/{queue}/limits/keys/{key}", asked));
  };
  return {
    async set(queue, key, limits, options) {
      const name = readQueueName(queue);
      const named = readKey(key);
      // Refuses what the client over the store refuses.
      readOneKeyLimits(limits, named);
      const query = createQuery(options);
      const asked = { query, body: wireText(limits), repeatable: true };
      if (named === null) await transport.ask("PUT /api/v1/queues/{queue}/limits/without-key", { params: { queue: name }, ...asked });
      else await transport.ask("PUT /api/v1/queues/{queue}/limits/keys/{key}", { params: { queue: name, key: named }, ...asked });
    },

    async get(queue, key) {
      const name = readQueueName(queue);
      const named = readKey(key);
      if (named !== null) return (await useOfKey(name, named))?.body.own ?? null;
      const asked = { params: { queue: name }, repeatable: true };
      return (await transport.ask("GET /api/v1/queues/{queue}/limits/without-key", asked)).body.limits;
    },

    async list(queue, page) {
      const query = queryOf(page, "a list of limits");
      const asked = { params: { queue: readQueueName(queue) }, query, repeatable: true };
      const { keys, next_cursor } = (await transport.ask("GET /api/v1/queues/{queue}/limits/keys", asked)).body;
      return { keys, cursor: next_cursor };
    },

    /** False may also mean that an earlier try, whose answer was lost, removed them. */
    async remove(queue, key, options) {
      const name = readQueueName(queue);
      const named = readKey(key);
      const asked = { query: changeQuery(options, "the options of a change").query, repeatable: true };
      const removed =
        named === null
          ? transport.ask("DELETE /api/v1/queues/{queue}/limits/without-key", { params: { queue: name }, ...asked })
          : transport.ask("DELETE /api/v1/queues/{queue}/limits/keys/{key}", { params: { queue: name, key: named }, ...asked });
      return (await orNull<unknown>(removed)) !== null;
    },

    async use(queue, options) {
      const name = readQueueName(queue);
      const keys = readKeys(options);
      const found = await orNull(transport.ask("GET /api/v1/queues/{queue}/limits", { params: { queue: name }, repeatable: true }));
      if (found === null) return null;
      const use = fromUseWire(found.body);
      if (keys === null) return use;
      const named = await Promise.all(keys.map((key) => useOfKey(name, key)));
      return { ...use, keys: named.flatMap((each) => (each === null ? [] : [fromKeyUseWire(each.body)])) };
    },
  };
}

function createQuery(options: unknown): { create: string | undefined; reason: string | undefined } {
  const { query, given } = changeQuery(options, "the options of a change", ["create"]);
  return { create: readCreate(given, true) ? "true" : undefined, ...query };
}

/** A name goes into the path: an invalid one could match another route. */
function readQueueName(queue: unknown): string {
  if (!isName(queue)) throw invalid("queue", NAME_RULE, queue);
  return queue;
}

function readKey(key: unknown): string | null {
  return key === null ? null : readNamedKey(key, "key");
}

/** Every URL parser takes these steps of a path away, encoded or not. */
const NO_STEPS = [".", ".."];

function readNamedKey(input: unknown, field: string): string {
  const key = readLimitKey(input, field);
  if (NO_STEPS.includes(key)) {
    throw new MillraceError("invalid_input", `no URL can name the limit key "${key}": connect to the store itself for that`, { field });
  }
  return key;
}

function readKeys(options: unknown): string[] | null {
  const { keys = null } = options === undefined || options === null ? {} : readFields(options, "the options of use", ["keys"]);
  if (keys === null) return null;
  if (!Array.isArray(keys) || keys.length > MAX_ASKED_KEYS) throw invalid("keys", `a list of at most ${MAX_ASKED_KEYS} limit keys`, keys);
  return keys.map((key, index) => readNamedKey(key, `keys[${index}]`));
}
