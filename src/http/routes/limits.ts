/** Limits of queues and of limit keys. */
import type { Client, KeyLimitUse, QueueLimitUse } from "../../client/client.ts";
import { MillraceError, preview } from "../../core/errors.ts";
import type { limitRoutes } from "../contract/limits.ts";
import { changeOptionsOf, type Handlers, ok, type RouteParts } from "../route-input.ts";
import { fromOwnInput, toKeyUseWire, toUseWire } from "../wire/limits.ts";

export function limitHandlers({ client }: RouteParts): Handlers<keyof typeof limitRoutes> {
  return {
    async "GET /api/v1/queues/{queue}/limits"({ params: { queue } }) {
      return ok(toUseWire(demand(queue, await client.limits.use(queue))));
    },

    async "GET /api/v1/queues/{queue}/limits/keys"({ params: { queue }, query }) {
      const { keys, cursor } = await client.limits.list(queue, query);
      return ok({ keys: [...keys], next_cursor: cursor });
    },

    async "GET /api/v1/queues/{queue}/limits/keys/{key}"({ params: { queue, key } }) {
      return ok({ queue, ...toKeyUseWire(await useOfKey(client, queue, key)) });
    },

    async "PUT /api/v1/queues/{queue}/limits/keys/{key}"(input) {
      const { queue, key } = input.params;
      const limits = fromOwnInput(input.body);
      await client.limits.set(queue, key, limits, { create: input.query.create ?? false, ...changeOptionsOf(input) });
      return ok({ queue, key, limits: (await client.limits.get(queue, key)) ?? {} });
    },

    async "DELETE /api/v1/queues/{queue}/limits/keys/{key}"(input) {
      const { queue, key } = input.params;
      if (!(await client.limits.remove(queue, key, changeOptionsOf(input)))) throw noLimits(queue, `limit key ${preview(key)}`);
      return ok({ message: "Limits removed", queue, key });
    },

    async "GET /api/v1/queues/{queue}/limits/without-key"({ params: { queue } }) {
      return ok({ queue, key: null, limits: await client.limits.get(queue, null) });
    },

    async "PUT /api/v1/queues/{queue}/limits/without-key"(input) {
      const { queue } = input.params;
      await client.limits.set(queue, null, input.body, { create: input.query.create ?? false, ...changeOptionsOf(input) });
      return ok({ queue, key: null, limits: (await client.limits.get(queue, null)) ?? {} });
    },

    async "DELETE /api/v1/queues/{queue}/limits/without-key"(input) {
      const { queue } = input.params;
      if (!(await client.limits.remove(queue, null, changeOptionsOf(input)))) throw noLimits(queue, "the jobs without a limit key");
      return ok({ message: "Weight removed", queue, key: null });
    },
  };
}

async function useOfKey(client: Client, queue: string, key: string): Promise<KeyLimitUse> {
  return demand(queue, await client.limits.use(queue, { keys: [key] })).keys[0]!;
}

function demand(queue: string, use: QueueLimitUse | null): QueueLimitUse {
  if (use === null) throw new MillraceError("not_found", `there is no queue ${queue}`, { field: "queue" });
  return use;
}

function noLimits(queue: string, what: string): MillraceError {
  return new MillraceError("not_found", `${what} of queue ${queue} has no limits of its own`, { field: "key" });
}
