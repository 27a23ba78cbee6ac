import type { Backoff, HandledJob, Handler, Handlers } from "../client/client.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { MAX_PUBLISHED_SCHEMAS, schemaOf, type SchemaText } from "../core/payload-schema.ts";
import { isName, NAME_RULE } from "../core/read-fields.ts";
import type { StandardSchemaV1 } from "../core/standard-schema.ts";

/** The key for all types without a handler of their own. */
const ANY_TYPE = "*";

/** The code for one type. */
export interface Handled {
  readonly handler: Handler;
  readonly schema: StandardSchemaV1 | undefined;
  /** The schema of the result. */
  readonly output: StandardSchemaV1 | undefined;
  readonly jsonSchema: SchemaText | null;
  readonly backoff: Backoff | undefined;
  /** The queue that its definition names. */
  readonly queue?: string | undefined;
}

export interface HandlerTable {
  readonly types: readonly string[] | "*";
  /** The JSON Schemas of its payloads, by type, as far as they are known: the first MAX_PUBLISHED_SCHEMAS. */
  readonly schemas: ReadonlyMap<string, SchemaText>;
  /** The queues of those definitions that name one, by type. */
  readonly queues: ReadonlyMap<string, string>;
  find(type: string): Handled | undefined;
}

/** Checks handlers and makes a table of them. Throws `invalid_input` and names the wrong handler. */
export function readHandlers(handlers: Handlers): HandlerTable {
  const byType = new Map<string, Handled>();
  const entries = Array.isArray(handlers) ? handlers.map(readHandledJob) : readObject(handlers as Record<string, unknown>);
  for (const [type, handled] of entries) {
    if (byType.has(type)) throw refusal(`handlers has two handlers for type "${type}"`, type);
    byType.set(type, handled);
  }
  if (byType.size === 0) throw refusal("handlers must have at least one handler; got none");

  const rest = byType.get(ANY_TYPE);
  const types = rest === undefined ? [...byType.keys()] : "*";
  const known = [...byType].flatMap(([type, { jsonSchema }]) => (jsonSchema === null ? [] : [[type, jsonSchema] as const]));
  const queues = new Map([...byType].flatMap(([type, { queue }]) => (queue === undefined ? [] : [[type, queue] as const])));
  return { types, schemas: new Map(known.slice(0, MAX_PUBLISHED_SCHEMAS)), queues, find: (type) => byType.get(type) ?? rest };
}

function readObject(handlers: unknown): [string, Handled][] {
  if (typeof handlers !== "object" || handlers === null) {
    throw invalid("handlers", "an object of functions by type, or a list of definitions with handlers", handlers);
  }
  return Object.entries(handlers).map(([type, handler]: [string, unknown]) => {
    if (type !== ANY_TYPE && !isName(type)) throw invalid("handlers", `an object whose keys are types (${NAME_RULE}) or "*"`, type);
    return [type, { handler: readHandler(type, handler), schema: undefined, output: undefined, jsonSchema: null, backoff: undefined }];
  });
}

function readHandledJob(item: unknown, index: number): [string, Handled] {
  const { definition, handler } = (item ?? {}) as Partial<HandledJob>;
  if (typeof definition !== "object" || definition === null) {
    throw invalid(`handlers[${index}]`, "a definition with its handler, made by defineJob(…).handle(…)", item);
  }
  if (definition.type !== ANY_TYPE && !isName(definition.type)) throw invalid(`handlers[${index}].type`, NAME_RULE, definition.type);
  const { type, input: schema, output, backoff } = definition;
  // Definitions that were not made by defineJob may have no options.
  const queue = (definition as Partial<typeof definition>).options?.queue;
  return [
    type,
    { handler: readHandler(type, handler), schema, output, jsonSchema: schemaOf(schema, definition.jsonSchema), backoff, queue },
  ];
}

function readHandler(type: string, handler: unknown): Handler {
  if (typeof handler !== "function") throw invalid(`handlers.${type}`, "a function", handler);
  return handler as Handler;
}

function refusal(message: string, type?: string): MillraceError {
  return new MillraceError("invalid_input", message, { field: type === undefined ? "handlers" : `handlers.${type}` });
}
