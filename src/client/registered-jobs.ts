/**
 * THE JOBS OF AN APPLICATION, which `connect(url, { jobs })` registers. Where its code names a type, also for a handler, that stands for the
 * registered definition, with its schema and options. An unknown name is refused: an application that lists its jobs has mistyped it. Definitions
 * that are not in the list can still be used as such.
 *
 * A server that is mounted on this client serves others too, whose types are not in the list. So it uses the client without the list.
 */
import { closestText } from "../core/closest-text.ts";
import { asInputError, invalid, MillraceError } from "../core/errors.ts";
import { HTTP_REQUEST_TYPE } from "../core/internal.ts";
import { isDefinition } from "../core/job-definition.ts";
import { hasTransaction } from "../core/query-transaction.ts";
import { readType } from "../core/read-fields.ts";
import {
  type Client,
  type CreatedFlow,
  type EnqueueResult,
  type Flows,
  type Handlers,
  type JobDefinition,
  type JobInput,
  type JobList,
  type Schedules,
  UNLISTED,
  type WorkOptions,
} from "./client.ts";

type Definitions = ReadonlyMap<string, JobDefinition<unknown>>;
type ScheduleFields = Parameters<Schedules["upsert"]>[0];

/** Checks a list of definitions. Throws `invalid_input`. */
export function readJobs(jobs: JobList | undefined): Definitions | null {
  if (jobs === undefined) return null;
  if (!Array.isArray(jobs)) throw invalid("jobs", "a list of definitions made by defineJob", jobs);
  const definitions = new Map<string, JobDefinition<unknown>>();
  for (const [index, job] of (jobs as readonly unknown[]).entries()) {
    if (!isDefinition(job)) throw invalid(`jobs[${index}]`, "a definition made by defineJob", job);
    const type = readType(job.type);
    if (definitions.has(type)) {
      throw new MillraceError("invalid_input", `jobs has two definitions of type "${type}"`, { field: `jobs[${index}]` });
    }
    definitions.set(type, job as JobDefinition<unknown>);
  }
  return definitions;
}

/** The client for the application's own code. Without a list it is the client itself. */
export function withJobs<Plain extends Client>(client: Plain, definitions: Definitions | null): Plain {
  if (definitions === null) return client;
  // Looked up at each call: `use` replaces them when it puts middleware around them.
  const enqueue = (kind: unknown, ...rest: unknown[]): Promise<unknown> =>
    (client.enqueue as (kind: unknown, ...rest: unknown[]) => Promise<unknown>)(kind, ...rest);
  const enqueueMany = (items: unknown, options: unknown): Promise<EnqueueResult[]> =>
    (client.enqueueMany as (items: unknown, options: unknown) => Promise<EnqueueResult[]>)(items, options);
  const flow = client.flow as (members: unknown, options: unknown) => Promise<CreatedFlow>;
  const kindOf = (kind: unknown): unknown => (typeof kind === "string" ? definitionOf(kind, definitions) : kind);
  return {
    ...client,
    [UNLISTED]: client,
    enqueue: async (kind: unknown, payload: unknown, options: unknown) => enqueue(kindOf(kind), payload, options),
    enqueueMany: (items: unknown, options: unknown) =>
      Array.isArray(items)
        ? enqueueEach(
            items.map((item) => withKind(item, kindOf)),
            options,
            enqueueMany,
          )
        : enqueueMany(items, options),
    flow: async (members: unknown, options: unknown) => flow(membersOf(members, kindOf), options),
    flows: {
      ...client.flows,
      add: async (id, members) => client.flows.add(id, membersOf(members, kindOf) as typeof members),
    } satisfies Flows,
    work: (handlers: Handlers, options?: WorkOptions) => client.work(withDefinitions(handlers, definitions), options),
    schedules: {
      ...client.schedules,
      create: async (fields: ScheduleFields, options) => client.schedules.create(withJob(fields, kindOf), options),
      upsert: async (fields: ScheduleFields, options) => client.schedules.upsert(withJob(fields, kindOf), options),
    } satisfies Schedules,
  };
}

/** Members with the definitions of their types. What is no list is refused by the client. */
function membersOf(members: unknown, kindOf: (kind: unknown) => unknown): unknown {
  if (!Array.isArray(members)) return members;
  return members.map((member: unknown) =>
    typeof member === "object" && member !== null && "type" in member ? { ...member, type: kindOf(member.type) } : member,
  );
}

function definitionOf(name: string, definitions: Definitions): string | JobDefinition<unknown> {
  const definition = definitions.get(name);
  if (definition !== undefined) return definition;
  if (name === HTTP_REQUEST_TYPE) return name;
  const type = readType(name);
  const closest = closestText(type, definitions.keys());
  const hint = closest === null ? "add its definition to `jobs` of connect" : `did you mean "${closest}"?`;
  throw new MillraceError("unknown_type", `type "${type}" is not one of the jobs of this client: ${hint}`, { field: "type" });
}

/** Handlers by name, each with its registered definition. A name without one stays as it is: others may enqueue such jobs. */
function withDefinitions(handlers: Handlers, definitions: Definitions): Handlers {
  if (typeof handlers !== "object" || handlers === null || Array.isArray(handlers)) return handlers;
  return Object.entries(handlers).map(([type, handler]) => ({
    definition: definitions.get(type) ?? ({ type } as JobDefinition<unknown>),
    handler,
  }));
}

/** An item with its definition, or its error. */
function withKind(item: unknown, kindOf: (kind: unknown) => unknown): unknown {
  try {
    return typeof item === "object" && item !== null ? { ...item, type: kindOf((item as JobInput).type) } : item;
  } catch (error) {
    return asInputError(error);
  }
}

/** Enqueues the items that have a definition, and puts the errors of the others in their places. Within a transaction the first error throws. */
async function enqueueEach(
  items: readonly unknown[],
  options: unknown,
  enqueueMany: (items: unknown, options: unknown) => Promise<EnqueueResult[]>,
): Promise<EnqueueResult[]> {
  const failed = items.find((item) => item instanceof MillraceError);
  if (failed === undefined) return enqueueMany(items, options);
  const { tx } = (options ?? {}) as { tx?: unknown };
  if (hasTransaction(tx)) throw failed;
  const known = items.filter((item) => !(item instanceof MillraceError));
  const results = (await enqueueMany(known, options)).values();
  return items.map((item) => (item instanceof MillraceError ? { ok: false, error: item } : results.next().value!));
}

/** A schedule with the definition of its type. */
function withJob(fields: ScheduleFields, kindOf: (kind: unknown) => unknown): ScheduleFields {
  // With both a type and a job, the client refuses it.
  if (typeof fields !== "object" || fields === null || typeof fields.type !== "string" || fields.job !== undefined) return fields;
  const kind = kindOf(fields.type);
  if (typeof kind === "string") return fields;
  const { type: _, ...rest } = fields;
  return { ...rest, job: kind as JobDefinition<unknown> };
}
