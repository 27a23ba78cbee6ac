/** Sign-in to the dashboard. For everything else, its page uses the public routes. */
import type { Route } from "./route.ts";
import { closed, nullable } from "./schemas.ts";
import { Type } from "./type.ts";

/** Roles of users: a viewer reads, an operator also changes things. */
export const ROLES = ["viewer", "operator"] as const;
/** A role of a user. */
export type Role = (typeof ROLES)[number];

const Session = Type.Object({
  user: nullable(Type.String({ description: "Who signed in; null for a key, and where no sign-in is needed." })),
  role: nullable(Type.Enum([...ROLES], { description: "What you may do; null if you must sign in first." })),
  sign_in: Type.Enum(["none", "key", "password", "application"], {
    description: "How to sign in; application: where the application around this server asks.",
  }),
});

export const dashboardRoutes = {
  "GET /dashboard/session": {
    summary: "Get the session of the dashboard",
    scope: "open",
    headers: { Cookie: "The session. You can send X-API-Key instead." },
    answers: { 200: { when: "Who you are, if the server knows it.", is: Session } },
    problems: ["not_found", "unauthorized", "rate_limited"],
  },
  "POST /dashboard/login": {
    summary: "Sign in to the dashboard",
    scope: "open",
    body: closed({
      username: Type.String({ maxLength: 256, description: "a string of at most 256 characters" }),
      password: Type.String({ maxLength: 1024, description: "a string of at most 1024 characters" }),
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
        headers: { "Set-Cookie": "Removes the cookie." },
      },
    },
    // store_unavailable removes the cookie, too.
    problems: ["not_found", "store_unavailable"],
  },
} as const satisfies Record<string, Route>;
