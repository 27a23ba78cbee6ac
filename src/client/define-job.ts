import { invalid } from "../core/errors.ts";
import { JOB_DEFAULTS, type JobOptions, readJobOptions } from "../core/job-options.ts";
import { USUAL_JOB } from "../core/job.ts";
import { type JsonSchema, readSchema } from "../core/payload-schema.ts";
import { readType } from "../core/read-fields.ts";
import type { StandardSchemaV1 } from "../core/standard-schema.ts";
import type { Backoff, Handler, JobDefinition } from "./client.ts";
import { gatherJobs } from "./handle-many.ts";

/** What defineJob takes: a type, optional schemas of its payload and result, and defaults for all jobs of that type. */
export interface JobDefinitionInput<
  Input extends StandardSchemaV1 | undefined,
  Output extends StandardSchemaV1 | undefined = undefined,
  Type extends string = string,
> extends Omit<JobOptions, "backoff"> {
  readonly type: Type;
  /** Any Standard Schema: zod, valibot, arktype. Checked at enqueue and again before the handler, which gets the schema's output. */
  readonly input?: Input | undefined;
  /**
   * Any Standard Schema. Checks what the handler returns, and the schema's output is stored. A result that does not fit fails the attempt, as an
   * error of the handler does.
   */
  readonly output?: Output | undefined;
  /**
   * The schema of the payload as JSON Schema (draft 2020-12), which workers publish: servers refuse what does not fit, and the dashboard makes a
   * form of it. Needed only if `input` cannot make its own (zod 4.2 and arktype can). At most 16 KiB. Handlers and `enqueue` do not check it.
   */
  readonly jsonSchema?: JsonSchema | undefined;
  /**
   * How the delay grows with each retry: `exponential` (the default), `fixed`, or the name of a function that workers have as `backoffs`. A
   * function here returns the delay before the n-th retry itself, for jobs that have no other backoff.
   */
  readonly backoff?: string | Backoff | undefined;
}

type TypesOf<Schema> = Schema extends StandardSchemaV1 ? NonNullable<Schema["~standard"]["types"]> : { input: unknown; output: unknown };

/**
 * Defines a job type in one place, with the schemas of its payload and result and its options, for producers, schedules and handlers.
 * Without a schema nothing is checked at run time, but you can still give the types: `defineJob<{ to: string }, { sent: boolean }>({ type: "email:send" })`.
 * The third one is the type of job, for `connect(url, { jobs })`: `defineJob<{ to: string }, unknown, "email:send">({ type: "email:send" })`.
 */
export function defineJob<Payload = unknown, Result = unknown, const Type extends string = string>(
  definition: JobDefinitionInput<undefined, undefined, Type>,
): JobDefinition<Payload, Payload, Result, Type>;
export function defineJob<
  Input extends StandardSchemaV1 | undefined = undefined,
  Output extends StandardSchemaV1 | undefined = undefined,
  const Type extends string = string,
>(
  definition: JobDefinitionInput<Input, Output, Type>,
): JobDefinition<TypesOf<Input>["input"], TypesOf<Input>["output"], TypesOf<Output>["output"], Type, TypesOf<Output>["input"]>;
export function defineJob(
  definition: JobDefinitionInput<StandardSchemaV1 | undefined, StandardSchemaV1 | undefined>,
): JobDefinition<unknown> {
  if (typeof definition !== "object" || definition === null || Array.isArray(definition)) {
    throw invalid("definition", "an object with a type", definition);
  }
  const { type, input, output, jsonSchema, backoff: given, ...rest } = definition;
  const backoff = typeof given === "function" ? given : undefined;
  // A function decides for jobs whose backoff is the built-in one, so that is what they have, whatever their queue says.
  const options = given === undefined ? rest : { ...rest, backoff: typeof given === "function" ? USUAL_JOB.backoff : given };
  readType(type);
  // Bad options throw where they are written. The bound of runAt is checked at enqueue; here any time is fine.
  readJobOptions(options, JOB_DEFAULTS, Number.MAX_SAFE_INTEGER);
  for (const [name, schema] of Object.entries({ input, output })) {
    if (schema !== undefined && typeof schema?.["~standard"]?.validate !== "function") {
      throw invalid(name, "a Standard Schema, such as z.object({ … })", schema);
    }
  }
  if (jsonSchema !== undefined) readSchema(jsonSchema, "jsonSchema");
  const made: JobDefinition<unknown> = {
    type,
    input,
    output,
    jsonSchema,
    options,
    backoff,
    handle: (handler) => ({ definition: made, handler }),
    handleMany: (handler, batch) => ({ definition: made, handler: gatherJobs(handler, batch) as Handler<never, never> }),
    job: (payload, jobOptions) => ({ ...jobOptions, type: made, payload }),
  };
  return made;
}
