/** Queues and statistics. */
import type { QueueOptions } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import type { queueRoutes } from "../contract/queues.ts";
import type { BodyIn } from "../contract.ts";
import { type Handlers, ok, type RouteParts } from "../route-input.ts";
import { toPointWire, toQueueWire, toStatsWire } from "../wire/queue.ts";
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

    async "PATCH /api/v1/queues/{queue}"({ params: { queue }, query, body }) {
      await client.configure(queue, settingsOf(body), { create: query.create ?? false });
      const found = (await client.queues()).find(({ name }) => name === queue);
      if (found === undefined) throw new MillraceError("not_found", `there is no queue ${queue}`, { field: "queue" });
      return ok(toQueueWire(found));
    },

    async "POST /api/v1/queues/{queue}/pause"({ params: { queue }, query }) {
      await client.pause(queue, query);
      return ok({ message: "Queue paused", queue, paused: true });
    },

    async "POST /api/v1/queues/{queue}/resume"({ params: { queue }, query }) {
      await client.resume(queue, query);
      return ok({ message: "Queue resumed", queue, paused: false });
    },
  };
}

function settingsOf({ retention, ...rest }: BodyIn<"PATCH /api/v1/queues/{queue}">): QueueOptions {
  return { ...fieldsToCamelCase(rest), retention: retention === undefined ? undefined : fieldsToCamelCase(retention) };
}
