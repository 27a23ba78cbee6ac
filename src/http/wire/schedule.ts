/** A schedule on the wire, both ways. */
import type { Schedule } from "../../client/client.ts";
import { payloadOf } from "../../core/json-text.ts";
import type { AnswerFrom } from "../contract.ts";
import { fromPriority, fromTime, fromTimeOrNull, toCamelCase, toPriority, toSnakeCase, toTime, toTimeOrNull } from "./values.ts";

type ScheduleWire = AnswerFrom<"GET /api/v1/schedules/{name}">;

export function toScheduleWire(schedule: Schedule): ScheduleWire {
  return {
    name: schedule.name,
    cron: schedule.cron,
    every: schedule.every,
    time_zone: schedule.timeZone,
    type: schedule.type,
    payload: payloadOf(schedule),
    queue: schedule.queue,
    priority: toPriority(schedule.priority),
    max_retries: schedule.maxRetries,
    max_lost: schedule.maxLost,
    retry_delay: schedule.retryDelay,
    backoff: schedule.backoff,
    timeout: schedule.timeout,
    unset: schedule.unset.map(toSnakeCase),
    tags: schedule.tags as string[],
    meta: schedule.meta,
    limit_key: schedule.limitKey,
    cost: schedule.cost,
    webhook_url: schedule.webhookUrl,
    catch_up: schedule.catchUp,
    overlap: schedule.overlap,
    paused: schedule.paused,
    next_run_at: toTimeOrNull(schedule.nextRunAt),
    last_run_at: toTimeOrNull(schedule.lastRunAt),
    last_job_id: schedule.lastJobId,
    created_at: toTime(schedule.createdAt),
    updated_at: toTime(schedule.updatedAt),
  };
}

export function fromScheduleWire(wire: ScheduleWire): Schedule {
  return {
    name: wire.name,
    cron: wire.cron,
    every: wire.every,
    timeZone: wire.time_zone,
    type: wire.type,
    payload: wire.payload,
    queue: wire.queue,
    priority: fromPriority(wire.priority),
    maxRetries: wire.max_retries,
    maxLost: wire.max_lost,
    retryDelay: wire.retry_delay,
    backoff: wire.backoff,
    timeout: wire.timeout,
    unset: wire.unset.map(toCamelCase) as Schedule["unset"],
    tags: wire.tags,
    meta: wire.meta,
    // A server of an older version does not send these.
    limitKey: wire.limit_key ?? null,
    cost: wire.cost ?? 1,
    webhookUrl: wire.webhook_url,
    catchUp: wire.catch_up,
    overlap: wire.overlap,
    paused: wire.paused,
    nextRunAt: fromTimeOrNull(wire.next_run_at),
    lastRunAt: fromTimeOrNull(wire.last_run_at),
    lastJobId: wire.last_job_id,
    createdAt: fromTime(wire.created_at),
    updatedAt: fromTime(wire.updated_at),
  };
}
