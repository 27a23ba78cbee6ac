/** Events, metrics, health and this reference. */
import type { Route } from "./route.ts";
import { Type } from "./type.ts";

const Health = Type.Object({ status: Type.Enum(["ok", "unavailable"]) });
const HEALTH = { 200: { when: "ok", is: Health }, 503: { when: "not ok", is: Health } };

const Resume = Type.Object({
  last_event_id: Type.Optional(
    Type.String({ maxLength: 64, description: "The same as Last-Event-ID, for clients that cannot set a header. The header goes first." }),
  ),
});

export const systemRoutes = {
  "GET /api/v1/events": {
    summary: "Stream events of all processes as they happen",
    scope: "read",
    headers: { "Last-Event-ID": "Starts after that event." },
    query: Resume,
    answers: {
      200: {
        when: "Server-sent events: job:created, job:due, job:started, job:completed, job:failed, job:dead, job:cancelled, job:suspended, job:resumed, job:retried, job:progress, flow:completed, flow:failed, flow:cancelled, queue:paused, queue:resumed, schedule:skipped; counts, if there are too many to send one by one; and gap, if some were missed. The data of each is flat JSON with event, id, at and its own fields.",
        mediaType: "text/event-stream",
      },
    },
  },
  "GET /api/v1/ws": {
    summary: "Stream events over a WebSocket",
    scope: "read",
    headers: { Origin: "The origin of a page must be this server's own, or an allowed one." },
    query: Resume,
    answers: {
      101: {
        when: 'One message of flat JSON for each event, like the data of GET /api/v1/events: {"event": "job:created", "id", "at", "job_id", "type", "queue", "priority", "level"}.',
      },
    },
    problems: ["upgrade_required", "malformed_request", "foreign_origin"],
  },
  "GET /metrics": {
    summary: "Get metrics of this process and its store",
    scope: "read",
    headers: { Accept: "application/json gives JSON instead." },
    answers: { 200: { when: "The Prometheus text format.", mediaType: "text/plain" } },
    problems: ["not_found"],
  },
  "GET /health": {
    summary: "Get the result of the last check of the store, without waiting for the store",
    scope: "open",
    answers: HEALTH,
  },
  "GET /health/live": { summary: "Check whether the process answers", scope: "open", answers: { 200: HEALTH[200] } },
  "GET /health/ready": { summary: "Check whether a claim round trip succeeded recently", scope: "open", answers: HEALTH },
  "GET /openapi.json": {
    summary: "Get this reference as OpenAPI 3.1",
    scope: "read",
    answers: { 200: { when: "The document.", is: Type.Record(Type.String(), Type.Unknown()) } },
  },
  "GET /docs": {
    summary: "Get this reference as a page",
    scope: "read",
    answers: { 200: { when: "The page; it loads no other files.", mediaType: "text/html" } },
  },
} as const satisfies Record<string, Route>;
