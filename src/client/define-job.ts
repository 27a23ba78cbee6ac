import type { Duration } from "../core/duration.ts";
import { invalid } from "../core/errors.ts";
import { JOB_DEFAULTS, type JobOptions, readJobOptions, readType } from "../core/job-options.ts";
import type { StandardSchemaV1 } from "../core/standard-schema.ts";
import type { JobDefinition } from "./client.ts";

/** What defineJob takes: a type, the schema of its payload if it has one, and defaults for each job of that type. */
export interface JobDefinitionInput<Schema extends StandardSchemaV1 | undefined> extends JobOptions {
  readonly type: string;
  /** Any Standard Schema: zod, valibot, arktype. Checked at enqueue, and again before the handler, which gets the schema's output. */
  readonly input?: Schema | undefined;
  /** The delay before the n-th retry, instead of the stored curve, for failures that the handler reports. */
  readonly backoff?: ((retry: number, error: unknown) => Duration) | undefined;
}

type SchemaTypes<Schema extends StandardSchemaV1> = NonNullable<Schema["~standard"]["types"]>;

/**
 * Names a job type once, with its payload's schema and its options, for those who enqueue and for those who handle.
 * Without a schema nothing is checked when it runs; the payload's type can still be given: `defineJob<{ to: string }>({ type: "email:send" })`.
 */
export function defineJob<Schema extends StandardSchemaV1>(
  definition: JobDefinitionInput<Schema> & { readonly input: Schema },
): JobDefinition<SchemaTypes<Schema>["input"], SchemaTypes<Schema>["output"]>;
export function defineJob<Payload = unknown>(definition: JobDefinitionInput<undefined>): JobDefinition<Payload>;
export function defineJob(definition: JobDefinitionInput<StandardSchemaV1 | undefined>): JobDefinition<unknown> {
  if (typeof definition !== "object" || definition === null || Array.isArray(definition)) {
    throw invalid("definition", "an object with a type", definition);
  }
  const { type, input, backoff, ...options } = definition;
  readType(type);
  // A bad option is told where it was written. When it is used, `now` bounds runAt; until then any time will do.
  readJobOptions(options, JOB_DEFAULTS, Number.MAX_SAFE_INTEGER);
  if (input !== undefined && typeof input?.["~standard"]?.validate !== "function") {
    throw invalid("input", "a Standard Schema, such as z.object({ … })", input);
  }
  if (backoff !== undefined && typeof backoff !== "function") throw invalid("backoff", "a function", backoff);
  const made: JobDefinition<unknown> = {
    type,
    input,
    options,
    backoff,
    handle: (handler) => ({ definition: made, handler }),
    job: (payload, jobOptions) => ({ ...jobOptions, type: made, payload }),
  };
  return made;
}
