/** Queues and statistics. */
import type { Client, QueueDetails, QueueOptions } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import type { queueRoutes } from "../contract/queues.ts";
import type { BodyIn } from "../contract.ts";
import { changeOptionsOf, type Handlers, ok, type RouteParts } from "../route-input.ts";
import { fromLimitsInput } from "../wire/limits.ts";
import { toPointWire, toQueueDetailsWire, toQueueWire, toStatsWire } from "../wire/queue.ts";
import { fieldsToCamelCase } from "../wire/values.ts";

export function queueHandlers({ client }: RouteParts): Handlers<keyof typeof queueRoutes> {
  return {
    async "GET /api/v1/stats"() {
      return ok(toStatsWire(await client.stats()));
    },

    async "GET /api/v1/attention"() {
      return ok({ findings: await client.attention() });
    },

    async "GET /api/v1/stats/history"({ query }) {
      return ok({ points: (await client.history(query)).map(toPointWire) });
    },

    async "GET /api/v1/queues"({ query }) {
      return ok({ queues: (await client.queues(query)).map(toQueueWire) });
    },

    async "GET /api/v1/queues/{queue}"({ params: { queue } }) {
      return ok(toQueueDetailsWire(await demandQueue(client, queue)));
    },

    async "GET /api/v1/queues/{queue}/types"({ params: { queue }, query }) {
      return ok({ types: await client.queueTypes(queue, query) });
    },

    async "PATCH /api/v1/queues/{queue}"(input) {
      const { queue } = input.params;
      await client.configure(queue, settingsOf(input.body), { create: input.query.create ?? false, ...changeOptionsOf(input) });
      const { types: _, ...changed } = await demandQueue(client, queue);
      return ok(toQueueWire(changed));
    },

    async "POST /api/v1/queues/{queue}/pause"(input) {
      const { queue } = input.params;
      await client.pause(queue, { ...input.query, ...changeOptionsOf(input) });
      return ok({ message: "Queue paused", queue, paused: true });
    },

    async "POST /api/v1/queues/{queue}/resume"(input) {
      const { queue } = input.params;
      await client.resume(queue, { ...input.query, ...changeOptionsOf(input) });
      return ok({ message: "Queue resumed", queue, paused: false });
    },
  };
}

async function demandQueue(client: Client, queue: string): Promise<QueueDetails> {
  const found = await client.queue(queue);
  if (found === null) throw new MillraceError("not_found", `there is no queue ${queue}`, { field: "queue" });
  return found;
}

function settingsOf({ retention, defaults, limits, ...rest }: BodyIn<"PATCH /api/v1/queues/{queue}">): QueueOptions {
  return {
    ...fieldsToCamelCase(rest),
    limits: fromLimitsInput(limits),
    retention: retention === undefined ? undefined : fieldsToCamelCase(retention),
    defaults: defaults === undefined || defaults === null ? defaults : fieldsToCamelCase(defaults),
  };
}
