/** Events on the wire, both ways. Flat, as the source design has them: `{"event":"job:completed","job_id":…,"duration_ms":…}`. */
import type { Event } from "../../core/event.ts";
import { fieldsToCamelCase, fieldsToSnakeCase, fromPriority, fromTime, toPriority, toTime } from "./values.ts";

/** An event as JSON: its own fields in snake_case, times as texts. */
export type EventWire = { readonly event: Event["event"]; readonly id?: string; readonly at: string } & Readonly<Record<string, unknown>>;

/** With `id`, a reader can continue after this event. */
export function toEventWire(event: Event, id?: string): EventWire {
  const wire = { event: event.event, ...(id === undefined ? {} : { id }), ...fieldsToSnakeCase(event), at: toTime(event.at) };
  if (event.event === "job:created") return { ...wire, priority: toPriority(event.priority) };
  if (event.event === "job:failed") return { ...wire, retry_at: toTime(event.retryAt) };
  return wire;
}

/** Without the id, which only the stream needs. */
export function fromEventWire(wire: EventWire): Event {
  const event = { ...fieldsToCamelCase(wire), at: fromTime(wire.at) } as Record<string, unknown>;
  delete event["id"];
  if (wire.event === "job:created") event["priority"] = fromPriority(wire["priority"] as number);
  if (wire.event === "job:failed") event["retryAt"] = fromTime(wire["retry_at"] as string);
  return event as unknown as Event;
}
