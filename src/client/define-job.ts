import type { Duration } from "../core/duration.ts";
import { invalid } from "../core/errors.ts";
import { JOB_DEFAULTS, type JobOptions, readJobOptions, readType } from "../core/job-options.ts";
import { type JsonSchema, readSchema } from "../core/payload-schema.ts";
import type { StandardSchemaV1 } from "../core/standard-schema.ts";
import type { JobDefinition } from "./client.ts";

/** What defineJob takes: a type, an optional schema of its payload, and defaults for all jobs of that type. */
export interface JobDefinitionInput<Schema extends StandardSchemaV1 | undefined> extends JobOptions {
  readonly type: string;
  /** Any Standard Schema: zod, valibot, arktype. Checked at enqueue and again before the handler, which gets the schema's output. */
  readonly input?: Schema | undefined;
  /**
   * The schema of the payload as JSON Schema (draft 2020-12), which workers publish: servers refuse what does not fit, and the dashboard makes a
   * form of it. Needed only if `input` cannot make its own (zod 4.2 and arktype can). At most 16 KiB. Handlers and `enqueue` do not check it.
   */
  readonly jsonSchema?: JsonSchema | undefined;
  /** The delay before the n-th retry after an error of the handler, instead of `retryDelay`. */
  readonly backoff?: ((retry: number, error: unknown) => Duration) | undefined;
}

type SchemaTypes<Schema extends StandardSchemaV1> = NonNullable<Schema["~standard"]["types"]>;

/**
 * Defines a job type in one place, with the schema of its payload and its options, for producers and handlers.
 * Without a schema nothing is checked at run time, but you can still give the payload's type: `defineJob<{ to: string }>({ type: "email:send" })`.
 */
export function defineJob<Schema extends StandardSchemaV1>(
  definition: JobDefinitionInput<Schema> & { readonly input: Schema },
): JobDefinition<SchemaTypes<Schema>["input"], SchemaTypes<Schema>["output"]>;
export function defineJob<Payload = unknown>(definition: JobDefinitionInput<undefined>): JobDefinition<Payload>;
export function defineJob(definition: JobDefinitionInput<StandardSchemaV1 | undefined>): JobDefinition<unknown> {
  if (typeof definition !== "object" || definition === null || Array.isArray(definition)) {
    throw invalid("definition", "an object with a type", definition);
  }
  const { type, input, jsonSchema, backoff, ...options } = definition;
  readType(type);
  // Bad options throw where they are written. The bound of runAt is checked at enqueue; here any time is fine.
  readJobOptions(options, JOB_DEFAULTS, Number.MAX_SAFE_INTEGER);
  if (input !== undefined && typeof input?.["~standard"]?.validate !== "function") {
    throw invalid("input", "a Standard Schema, such as z.object({ … })", input);
  }
  if (jsonSchema !== undefined) readSchema(jsonSchema, "jsonSchema");
  if (backoff !== undefined && typeof backoff !== "function") throw invalid("backoff", "a function", backoff);
  const made: JobDefinition<unknown> = {
    type,
    input,
    jsonSchema,
    options,
    backoff,
    handle: (handler) => ({ definition: made, handler }),
    job: (payload, jobOptions) => ({ ...jobOptions, type: made, payload }),
  };
  return made;
}
