/** Schedules over HTTP. */
import type { EnqueuedJob, Schedule, Schedules, ScheduleTiming } from "../../client/client.ts";
import { invalid, MillraceError } from "../../core/errors.ts";
import type { JobOptions } from "../../core/job-options.ts";
import { mergeOptions } from "../../core/merge-options.ts";
import { SCHEDULED_OPTIONS } from "../../core/schedule-record.ts";
import { plainSchedule } from "../../core/job-definition.ts";
import { textsIn } from "../../core/json-source.ts";
import { withTexts } from "../../core/json-text.ts";
import { isName, NAME_RULE } from "../../core/read-fields.ts";
import { fromJobWire } from "../wire/job.ts";
import { fromScheduleWire } from "../wire/schedule.ts";
import { fromTime } from "../wire/values.ts";
import { changeQuery } from "./change-query.ts";
import { onlyDefaults } from "./only-defaults.ts";
import { queryOf } from "./queries.ts";
import type { Answered, Transport } from "./transport.ts";
import { wireText } from "./wire-text.ts";

/** `defaults` of the client for jobs. */
export function createRemoteSchedules(transport: Transport, defaults: JobOptions): Schedules {
  return {
    create: async (schedule, options) => create(transport, await readInput(schedule, defaults), queryOfChange(options)),
    upsert: async (schedule, options) => upsert(transport, await readInput(schedule, defaults), queryOfChange(options)),
    get: (name) => get(transport, name),

    async list() {
      const { body, text } = await transport.ask("GET /api/v1/schedules", { repeatable: true });
      const payloads = textsIn(text, { list: "schedules", fields: ["payload"] });
      return body.schedules.map((wire, index) => withTexts(fromScheduleWire(wire), payloads[index]!.text));
    },

    /** False may also mean that an earlier try, whose answer was lost, removed it. */
    async remove(name, options) {
      const asked = { params: { name: readName(name) }, query: queryOfChange(options), repeatable: true };
      return (await orNull(transport.ask("DELETE /api/v1/schedules/{name}", asked))) !== null;
    },

    async pause(name, options) {
      const asked = { params: { name: readName(name) }, query: queryOfChange(options), repeatable: true };
      return scheduleIn(await transport.ask("POST /api/v1/schedules/{name}/pause", asked));
    },

    async resume(name, options) {
      const asked = { params: { name: readName(name) }, query: queryOfChange(options), repeatable: true };
      return scheduleIn(await transport.ask("POST /api/v1/schedules/{name}/resume", asked));
    },

    async run(name, options): Promise<EnqueuedJob> {
      const asked = { params: { name: readName(name) }, query: queryOfChange(options), repeatable: false };
      const { body, text } = await transport.ask("POST /api/v1/schedules/{name}/run", asked);
      return withTexts({ ...fromJobWire(body), created: true, pruned: false }, payloadIn(text));
    },

    preview: (schedule, count) => preview(transport, schedule, count),
  };
}

function queryOfChange(options: unknown): { readonly reason: string | undefined } {
  return changeQuery(options, "the options of a change").query;
}

/** Is not repeated: after a lost answer, the repeat would be refused because of the first. */
async function create(transport: Transport, { name, ...rest }: Fields, query: ReturnType<typeof queryOfChange>): Promise<Schedule> {
  return scheduleIn(
    await transport.ask("POST /api/v1/schedules", { query, body: wireText({ name: readName(name), ...rest }), repeatable: false }),
  );
}

async function upsert(transport: Transport, { name, ...rest }: Fields, query: ReturnType<typeof queryOfChange>): Promise<Schedule> {
  return scheduleIn(
    await transport.ask("PUT /api/v1/schedules/{name}", {
      params: { name: readName(name) },
      query,
      body: wireText(rest),
      repeatable: true,
    }),
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a schedule, with the defaults of the client for what they leave out. */
async function readInput(input: unknown, defaults: JobOptions): Promise<Fields> {
  const { fields } = await plainSchedule(input);
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) throw invalid("schedule", "an object", input);
  const usual = Object.fromEntries(SCHEDULED_OPTIONS.map((name) => [name, defaults[name]]));
  return { ...mergeOptions(usual, fields), ...onlyDefaults(usual, fields) };
}

async function get(transport: Transport, name: string): Promise<Schedule | null> {
  const found = await orNull(transport.ask("GET /api/v1/schedules/{name}", { params: { name: readName(name) }, repeatable: true }));
  return found === null ? null : scheduleIn(found);
}

/** A schedule that keeps the text of its payload as the server wrote it. */
function scheduleIn({ body, text }: Pick<Answered<"GET /api/v1/schedules/{name}">, "body" | "text">): Schedule {
  return withTexts(fromScheduleWire(body), payloadIn(text));
}

function payloadIn(text: string): string {
  return textsIn(text, { fields: ["payload"] })[0]?.text ?? "null";
}

async function preview(transport: Transport, schedule: string | ScheduleTiming, count: number | undefined): Promise<number[]> {
  if (typeof schedule === "object" && schedule !== null) {
    const { body } = await transport.ask("POST /api/v1/schedules/preview", { body: wireText({ ...schedule, count }), repeatable: true });
    return body.runs.map(fromTime);
  }
  const { body } = await transport.ask("GET /api/v1/schedules/{name}/preview", {
    params: { name: readName(schedule) },
    query: queryOf({ count }, "a preview"),
    repeatable: true,
  });
  return body.runs.map(fromTime);
}

/** A name goes into the path: an invalid one could match another route. */
function readName(name: unknown): string {
  if (!isName(name)) throw invalid("name", NAME_RULE, name);
  return name;
}

/** Null instead of `not_found`. */
export async function orNull<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof MillraceError && error.code === "not_found") return null;
    throw error;
  }
}
