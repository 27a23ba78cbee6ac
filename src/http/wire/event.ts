/** Events on the wire, both ways. As the source design names them: `job:completed {job_id, duration_ms}`. */
import type { Event } from "../../core/event.ts";
import { fieldsToCamelCase, fieldsToSnakeCase, fromPriority, fromTime, toPriority, toTime } from "./values.ts";

/** An event as JSON: its own fields in snake_case, times as texts. */
export type EventWire = { readonly event: Event["event"]; readonly at: string } & Readonly<Record<string, unknown>>;

export function toEventWire(event: Event): EventWire {
  const wire = { ...fieldsToSnakeCase(event), event: event.event, at: toTime(event.at) };
  if (event.event === "job:created") return { ...wire, priority: toPriority(event.priority) };
  if (event.event === "job:failed") return { ...wire, retry_at: toTime(event.retryAt) };
  return wire;
}

export function fromEventWire(wire: EventWire): Event {
  const event = { ...fieldsToCamelCase(wire), at: fromTime(wire.at) } as Record<string, unknown>;
  if (wire.event === "job:created") event["priority"] = fromPriority(wire["priority"] as number);
  if (wire.event === "job:failed") event["retryAt"] = fromTime(wire["retry_at"] as string);
  return event as unknown as Event;
}
