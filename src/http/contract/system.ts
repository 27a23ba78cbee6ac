/** What happens, how the server is, and what it can do. */
import { Type } from "typebox";
import type { Route } from "./route.ts";

const Health = Type.Object({ status: Type.Enum(["ok", "unavailable"]) });
const HEALTH = { 200: { when: "ok", is: Health }, 503: { when: "not ok", is: Health } };

const Resume = Type.Object({
  last_event_id: Type.Optional(
    Type.String({ maxLength: 64, description: "As Last-Event-ID, for those who cannot set a header. The header goes first." }),
  ),
});

export const systemRoutes = {
  "GET /api/v1/events": {
    summary: "What happens, as it happens, in all processes",
    scope: "read",
    headers: { "Last-Event-ID": "Asks for what came after that event." },
    query: Resume,
    answers: {
      200: {
        when: "Server-sent events: job:created, job:due, job:started, job:completed, job:failed, job:dead, job:cancelled, job:retried, job:progress, queue:paused, queue:resumed, schedule:skipped; counts, when there are too many to tell one by one; and gap, when some were not told. The data of each is flat JSON with event, id, at and its own fields.",
        mediaType: "text/event-stream",
      },
    },
  },
  "GET /api/v1/ws": {
    summary: "The same over a WebSocket",
    scope: "read",
    headers: { Origin: "That of a page must be this server's own, or an allowed one." },
    query: Resume,
    answers: {
      101: {
        when: 'Messages of flat JSON, as the data of the events of the stream: {"event": "job:created", "id", "at", "job_id", "type", "queue", "priority", "level"}.',
      },
    },
    problems: ["upgrade_required", "malformed_request", "foreign_origin"],
  },
  "GET /metrics": {
    summary: "The figures of this process and of its store",
    scope: "read",
    headers: { Accept: "application/json asks for JSON instead." },
    answers: { 200: { when: "Text as Prometheus reads it.", mediaType: "text/plain" } },
    problems: ["not_found"],
  },
  "GET /health": {
    summary: "Whether the server can work, by its last look at the store; it does not wait for the store",
    scope: "open",
    answers: HEALTH,
  },
  "GET /health/live": { summary: "Whether the process answers", scope: "open", answers: { 200: HEALTH[200] } },
  "GET /health/ready": { summary: "Whether a claim round trip succeeded lately", scope: "open", answers: HEALTH },
  "GET /openapi.json": {
    summary: "This contract as OpenAPI 3.1",
    scope: "read",
    answers: { 200: { when: "The document.", is: Type.Record(Type.String(), Type.Unknown()) } },
  },
  "GET /docs": {
    summary: "This contract as a page",
    scope: "read",
    answers: { 200: { when: "The page; it needs nothing else.", mediaType: "text/html" } },
  },
} as const satisfies Record<string, Route>;
