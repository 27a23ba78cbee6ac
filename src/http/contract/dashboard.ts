/** Who looks at the dashboard. All other that its page does, it does by the routes that everybody has. */
import { Type } from "typebox";
import type { Route } from "./route.ts";
import { closed, nullable } from "./schemas.ts";

/** What a user may do: a viewer looks, an operator acts. */
export const ROLES = ["viewer", "operator"] as const;
/** One of those roles. */
export type Role = (typeof ROLES)[number];

const Session = Type.Object({
  user: nullable(Type.String({ description: "Who signed in; null for a key, and where nobody has to." })),
  role: nullable(Type.Enum([...ROLES], { description: "What they may do; null: sign in first." })),
  sign_in: Type.Enum(["none", "key", "password"], { description: "How one signs in here." }),
});

export const dashboardRoutes = {
  "GET /dashboard/session": {
    summary: "Who looks at the dashboard",
    scope: "open",
    headers: { Cookie: "The session, or X-API-Key instead." },
    answers: { 200: { when: "Who it is, as far as the server knows.", is: Session } },
    problems: ["not_found", "unauthorized", "rate_limited"],
  },
  "POST /dashboard/login": {
    summary: "Sign in to the dashboard",
    scope: "open",
    body: closed({
      username: Type.String({ maxLength: 256, description: "a text of at most 256 characters" }),
      password: Type.String({ maxLength: 1024, description: "a text of at most 1024 characters" }),
    }),
    maxBody: 16 * 1024,
    answers: { 204: { when: "Signed in.", headers: { "Set-Cookie": "The session." } } },
    problems: ["not_found", "unauthorized", "rate_limited", "invalid_input", "malformed_body", "body_too_large", "unsupported_media_type"],
  },
  "POST /dashboard/logout": {
    summary: "Sign out of the dashboard",
    scope: "open",
    answers: {
      204: {
        when: "Signed out: the session has ended on every server of the store.",
        headers: { "Set-Cookie": "Takes the session away." },
      },
    },
    // With store_unavailable, too, the session's cookie is taken away.
    problems: ["not_found", "store_unavailable"],
  },
} as const satisfies Record<string, Route>;
