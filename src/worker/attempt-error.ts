import { inspect, types } from "node:util";
import type { AttemptError } from "../core/job.ts";
import { cutText } from "./cut-text.ts";

const MAX_NAME_BYTES = 256;
const MAX_MESSAGE_BYTES = 8 * 1024;
const MAX_STACK_BYTES = 64 * 1024;
/** How many causes in a chain, and how many errors of an AggregateError, are shown. */
const MAX_CAUSES = 10;

/**
 * What a job keeps of a thrown value. Anything can be thrown: null, a text of 5 MB, a Proxy whose every trap throws, an error that is its own
 * cause. This never throws, and its result is bounded and well-formed, so that every failure can be recorded.
 */
export function describeThrown(thrown: unknown, kind: AttemptError["kind"] = "error"): AttemptError {
  ignoreRejection(thrown);
  return {
    name: cutText(nameOf(thrown), MAX_NAME_BYTES),
    message: cutText(messageOf(thrown), MAX_MESSAGE_BYTES),
    stack: stackOf(thrown),
    kind,
  };
}

function nameOf(thrown: unknown): string {
  const name = field(thrown, "name");
  if (typeof name === "string" && name !== "") return name;
  return isError(thrown) ? "Error" : "NonError";
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  const message = field(thrown, "message");
  if (typeof message === "string") return message;
  return isError(thrown) ? "" : show(thrown);
}

/** The stack, followed by the stacks of its causes. Null if it is not an error. */
function stackOf(thrown: unknown): string | null {
  const own = ownStack(thrown);
  if (own === null) return null;
  const parts = [own, ...gatheredErrors(thrown).map((error, index) => `errors[${index}]: ${ownStack(error) ?? show(error)}`)];
  const seen = new Set<unknown>([thrown]);
  for (let cause = field(thrown, "cause"); cause !== undefined && cause !== null; cause = field(cause, "cause")) {
    if (seen.has(cause) || seen.size > MAX_CAUSES) break;
    seen.add(cause);
    parts.push(`Caused by: ${ownStack(cause) ?? show(cause)}`);
  }
  // The parts are cut before they are joined: ten stacks of 5 MB would make 50 MB.
  return cutText(parts.map((part) => cutText(part, MAX_STACK_BYTES)).join("\n"), MAX_STACK_BYTES);
}

function ownStack(thrown: unknown): string | null {
  const stack = field(thrown, "stack");
  return typeof stack === "string" ? stack : null;
}

function gatheredErrors(thrown: unknown): unknown[] {
  const errors = field(thrown, "errors");
  try {
    return Array.isArray(errors) ? errors.slice(0, MAX_CAUSES) : [];
  } catch {
    return [];
  }
}

/** A field of a value whose getters may throw. */
function field(value: unknown, name: string): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

function isError(value: unknown): boolean {
  try {
    return value instanceof Error || types.isNativeError(value);
  } catch {
    return false;
  }
}

function show(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return inspect(value, { depth: 2, customInspect: false, maxArrayLength: 20, maxStringLength: 1024, breakLength: Infinity });
  } catch {
    return `a value of type ${typeof value} that cannot be printed`;
  }
}

/** A thrown promise that rejects would end the process as an unhandled rejection. */
function ignoreRejection(thrown: unknown): void {
  if (types.isPromise(thrown)) void Promise.prototype.then.call(thrown, nothing, nothing);
}

function nothing(): void {}
