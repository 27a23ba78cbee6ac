import type { Handlers } from "./client.ts";

/** The types that these handlers take; `*` is any. */
export function typesOf(handlers: Handlers): string[] {
  return Array.isArray(handlers) ? handlers.map(({ definition }) => definition.type) : Object.keys(handlers);
}

/** The queues that their definitions name. */
export function queuesOf(handlers: Handlers): string[] {
  return Array.isArray(handlers) ? handlers.flatMap(({ definition }) => definition.options.queue ?? []) : [];
}
