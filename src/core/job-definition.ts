/** USING A DEFINITION of a job: what clients over a store and over HTTP do alike. */
import { checkPayload } from "./check-payload.ts";
import { invalid, MillraceError } from "./errors.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "./json.ts";
import type { Job } from "./job.ts";
import type { JobOptions } from "./job-options.ts";
import { readType } from "./read-fields.ts";
import { SCHEDULED_OPTIONS } from "./schedule-record.ts";
import type { StandardSchemaV1 } from "./standard-schema.ts";

/** What a producer needs of a definition. */
interface Definition {
  readonly type: string;
  readonly input: StandardSchemaV1 | undefined;
  readonly options: JobOptions;
}

/** Whether this looks like a definition. Its type is not checked. */
export function isDefinition(given: unknown): given is Definition {
  if ((typeof given !== "object" && typeof given !== "function") || given === null) return false;
  const { options } = given as { options?: unknown };
  return typeof options === "object" && options !== null;
}

/** The type of a definition or name. Throws `invalid_input`. */
export function typeOfKind(kind: unknown): string {
  if ((typeof kind !== "object" && typeof kind !== "function") || kind === null) return readType(kind);
  if (!isDefinition(kind)) throw invalid("type", "a string, or a definition made by defineJob", kind);
  return readType(kind.type);
}

/** Lets a call that finds a job by its id take the definition of the job before the id. Then a job of another type is refused. */
export function orByDefinition<Found extends Job | null>(
  find: (id: string, options?: unknown) => Promise<Found>,
): (first: unknown, second?: unknown, third?: unknown) => Promise<Found> {
  return async (first, second, third) => {
    if (typeof first !== "object" || first === null) return find(first as string, second);
    const type = typeOfKind(first);
    const job = await find(second as string, third);
    if (job === null || job.type === type) return job;
    throw new MillraceError("invalid_input", `job ${job.id} is of type ${job.type}, not ${type}`, { field: "id", jobId: job.id });
  };
}

/** A schedule whose job is named by its type, and that type if a definition was given instead. */
interface PlainSchedule {
  readonly fields: unknown;
  readonly defined: string | null;
}

/**
 * Replaces the definition of a schedule, `job`, by its type and by those of its options that the schedule does not set. Checks the payload by its
 * schema, as it will be stored. Anything else is left for the reader of schedules to refuse.
 */
export async function plainSchedule(input: unknown): Promise<PlainSchedule> {
  if (typeof input !== "object" || input === null || !("job" in input)) return { fields: input, defined: null };
  const { job, ...rest } = input as { readonly job: unknown; readonly type?: unknown; readonly payload?: unknown };
  if (job === undefined) return { fields: rest, defined: null };
  if (!isDefinition(job)) throw invalid("job", "a definition made by defineJob", job);
  if (rest.type !== undefined) throw new MillraceError("invalid_input", "give either type or job, not both", { field: "job" });
  const type = readType(job.type);
  const text = encodeJson(rest.payload, "payload", MAX_PAYLOAD_BYTES);
  if (job.input !== undefined) await checkPayload(job.input, JSON.parse(text));
  const said = Object.entries(rest).filter(([, value]) => value !== undefined);
  const usual = SCHEDULED_OPTIONS.map((name) => [name, job.options[name]] as const).filter(([, value]) => value !== undefined);
  return { fields: { ...Object.fromEntries(usual), ...Object.fromEntries(said), type }, defined: type };
}
