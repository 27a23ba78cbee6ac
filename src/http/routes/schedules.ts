/** Schedules. */
import type { Client, ScheduleInput, ScheduleTiming } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import { stringifyJson } from "../../core/json-text.ts";
import type { ChangeOptions } from "../../core/manual-change.ts";
import type { scheduleRoutes } from "../contract/schedules.ts";
import type { AnswerFrom, BodyIn } from "../contract.ts";
import { changeOptionsOf, type Handlers, ok, type Reply, type RouteParts } from "../route-input.ts";
import { jobText, written } from "../wire/job-text.ts";
import { toScheduleWire } from "../wire/schedule.ts";
import { fieldsToCamelCase, toCamelCase, toTime } from "../wire/values.ts";

type ScheduleBody = BodyIn<"PUT /api/v1/schedules/{name}">;

export function scheduleHandlers({ client, payloadCheck }: RouteParts): Handlers<keyof typeof scheduleRoutes> {
  return {
    async "GET /api/v1/schedules"() {
      return ok(writtenOf({ schedules: (await client.schedules.list()).map(toScheduleWire) }));
    },

    async "POST /api/v1/schedules"(input) {
      const { name, ...body } = input.body;
      await payloadCheck.check({ queue: body.queue, type: body.type }, body.payload);
      const schedule = await client.schedules.create({ ...scheduleFields(body), name } as ScheduleInput, changeOptionsOf(input));
      return { status: 201, body: writtenOf(toScheduleWire(schedule)) };
    },

    async "PUT /api/v1/schedules/{name}"(input) {
      await payloadCheck.check({ queue: input.body.queue, type: input.body.type }, input.body.payload);
      return upsert(client, input.params.name, input.body, changeOptionsOf(input));
    },

    async "POST /api/v1/schedules/preview"({ body: { count, ...timing } }) {
      const runs = await client.schedules.preview(fieldsToCamelCase(timing) as ScheduleTiming, count);
      return ok({ runs: runs.map(toTime) });
    },

    async "GET /api/v1/schedules/{name}"({ params: { name } }) {
      const schedule = await client.schedules.get(name);
      if (schedule === null) throw noSchedule(name);
      return ok(writtenOf(toScheduleWire(schedule)));
    },

    async "DELETE /api/v1/schedules/{name}"(input) {
      const { name } = input.params;
      if (!(await client.schedules.remove(name, changeOptionsOf(input)))) throw noSchedule(name);
      return ok({ message: "Schedule removed", name });
    },

    async "POST /api/v1/schedules/{name}/run"(input) {
      const job = await client.schedules.run(input.params.name, changeOptionsOf(input));
      return { status: 201, body: written(jobText(job)), headers: { Location: `../../jobs/${job.id}` } };
    },

    async "POST /api/v1/schedules/{name}/pause"(input) {
      return ok(writtenOf(toScheduleWire(await client.schedules.pause(input.params.name, changeOptionsOf(input)))));
    },

    async "POST /api/v1/schedules/{name}/resume"(input) {
      return ok(writtenOf(toScheduleWire(await client.schedules.resume(input.params.name, changeOptionsOf(input)))));
    },

    async "GET /api/v1/schedules/{name}/preview"({ params: { name }, query }) {
      const runs = await client.schedules.preview(name, query.count);
      return ok({ runs: runs.map(toTime) });
    },
  };
}

/** Looks first whether it exists. If two callers create it at once, both may get 201. */
async function upsert(
  client: Client,
  name: string,
  body: ScheduleBody,
  who: ChangeOptions,
): Promise<Reply<AnswerFrom<"PUT /api/v1/schedules/{name}">>> {
  const before = await client.schedules.get(name);
  const schedule = await client.schedules.upsert({ ...scheduleFields(body), name } as ScheduleInput, who);
  return { status: before === null ? 201 : 200, body: writtenOf(toScheduleWire(schedule)) };
}

/** Fields that are null in a schedule may be sent back as null. */
function scheduleFields(body: ScheduleBody): Record<string, unknown> {
  const { meta, webhook_url, limit_key, unset, ...rest } = body;
  return fieldsToCamelCase({
    ...rest,
    ...(unset === undefined ? {} : { unset: unset.map(toCamelCase) }),
    ...(meta === null || meta === undefined ? {} : { meta }),
    ...(limit_key === null || limit_key === undefined ? {} : { limit_key }),
    ...(webhook_url === null || webhook_url === undefined ? {} : { webhook_url }),
  });
}

/** With payloads as they are stored. */
function writtenOf(body: unknown): never {
  return written(stringifyJson(body));
}

function noSchedule(name: string): MillraceError {
  return new MillraceError("not_found", `there is no schedule ${name}`, { field: "name" });
}
