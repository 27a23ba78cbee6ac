import type { Handlers } from "./client.ts";

/** The names of the types that these handle; `*` is any. */
export function typesOf(handlers: Handlers): string[] {
  return Array.isArray(handlers) ? handlers.map(({ definition }) => definition.type) : Object.keys(handlers);
}
