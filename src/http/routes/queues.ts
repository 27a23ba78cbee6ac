/** Queues and statistics. */
import type { QueueOptions } from "../../client/client.ts";
import type { Duration } from "../../core/duration.ts";
import { MillraceError } from "../../core/errors.ts";
import type { queueRoutes } from "../contract/queues.ts";
import type { BodyIn } from "../contract.ts";
import { type Handlers, ok, type RouteParts } from "../route-input.ts";
import { toPointWire, toQueueWire, toStatsWire } from "../wire/queue.ts";

type Retention = NonNullable<BodyIn<"PATCH /api/v1/queues/{queue}">["retention"]>;

export function queueHandlers({ client }: RouteParts): Handlers<keyof typeof queueRoutes> {
  return {
    async "GET /api/v1/stats"() {
      return ok(toStatsWire(await client.stats()));
    },

    async "GET /api/v1/stats/history"({ query }) {
      return ok({ points: (await client.history(query)).map(toPointWire) });
    },

    async "GET /api/v1/queues"() {
      return ok({ queues: (await client.queues()).map(toQueueWire) });
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

function settingsOf({ capacity, head_start, dead_letters, retention }: BodyIn<"PATCH /api/v1/queues/{queue}">): QueueOptions {
  return {
    capacity,
    headStart: head_start as Duration | null | undefined,
    deadLetters: dead_letters,
    retention: retention === undefined ? undefined : retentionOf(retention),
  };
}

function retentionOf({ age, count, keep_at_least }: Retention): NonNullable<QueueOptions["retention"]> {
  return { age: age as Duration | undefined, count, keepAtLeast: keep_at_least as Duration | undefined };
}
