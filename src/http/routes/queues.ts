/** Queues and statistics. */
import type { QueueOptions } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import type { queueRoutes } from "../contract/queues.ts";
import type { BodyIn } from "../contract.ts";
import { actorOf, type Handlers, ok, type RouteParts } from "../route-input.ts";
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

    async "GET /api/v1/queues"() {
      return ok({ queues: (await client.queues()).map(toQueueWire) });
    },

    async "PATCH /api/v1/queues/{queue}"(input) {
      const { queue } = input.params;
      await client.configure(queue, settingsOf(input.body), { create: input.query.create ?? false, ...actorOf(input) });
      const found = (await client.queues()).find(({ name }) => name === queue);
      if (found === undefined) throw new MillraceError("not_found", `there is no queue ${queue}`, { field: "queue" });
      return ok(toQueueWire(found));
    },

    async "POST /api/v1/queues/{queue}/pause"(input) {
      const { queue } = input.params;
      await client.pause(queue, { ...input.query, ...actorOf(input) });
      return ok({ message: "Queue paused", queue, paused: true });
    },

    async "POST /api/v1/queues/{queue}/resume"(input) {
      const { queue } = input.params;
      await client.resume(queue, { ...input.query, ...actorOf(input) });
      return ok({ message: "Queue resumed", queue, paused: false });
    },
  };
}

function settingsOf({ retention, ...rest }: BodyIn<"PATCH /api/v1/queues/{queue}">): QueueOptions {
  return { ...fieldsToCamelCase(rest), retention: retention === undefined ? undefined : fieldsToCamelCase(retention) };
}
