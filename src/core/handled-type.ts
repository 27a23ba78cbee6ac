/** WHAT LIVE WORKERS HANDLE: types, from which queues, and the JSON Schemas of their payloads. */
import { servesQueue } from "./explain.ts";
import type { JsonSchema } from "./payload-schema.ts";

/** A type that live workers handle. Workers that publish another schema for the same type are an item of their own. */
export interface HandledType {
  /** `*`: any type. */
  readonly type: string;
  /** The queues that these workers serve. */
  readonly queues: readonly string[];
  /** How many workers. */
  readonly workers: number;
  /** The JSON Schema of its payload; null if these workers publish none. */
  readonly schema: JsonSchema | null;
}

/**
 * The schemas of a job's payload: it is enough to fit one of them, because during a deploy several versions run side by side. Null if anything may
 * fit: no live worker handles the job, or one that publishes no schema does.
 */
export function schemasFor(handled: readonly HandledType[], job: { readonly queue: string; readonly type: string }): JsonSchema[] | null {
  const found = handled.filter((each) => (each.type === job.type || each.type === "*") && servesQueue(each, job.queue));
  const schemas = found.flatMap(({ schema }) => (schema === null ? [] : [schema]));
  return found.length === 0 || schemas.length < found.length ? null : schemas;
}
