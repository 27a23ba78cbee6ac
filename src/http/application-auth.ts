/** THE APPLICATION'S OWN SIGN-IN: a function of the application says who sends a request. */
import { messageOf } from "../core/errors.ts";
import { isActor, ACTOR_RULE } from "../core/manual-change.ts";
import type { Caller } from "./auth.ts";
import type { Call } from "./call.ts";
import { type Role, ROLES } from "./contract/dashboard.ts";
import { SCOPES_OF } from "./sessions.ts";

/** A request to a mounted server. */
export interface ApplicationRequest {
  /** A header by its name in lower case; null if it is missing. */
  readonly header: (name: string) => string | null;
  /**
   * The request as your own handlers get it: that of Express or `node:http`, Fastify's request, Koa's context, or a `Request`. For a WebSocket it
   * is that of `node:http`, which has passed none of your middleware.
   */
  readonly original: unknown;
}

/** Who sends a request, and what they may do: a viewer reads, an operator also changes things. */
export interface ApplicationUser {
  /** Shown on the dashboard and in the audit. At most 128 characters. */
  readonly name: string;
  readonly role: Role;
}

/** Says who sends a request; null or undefined for somebody who is not signed in. */
export type ApplicationAuth = (request: ApplicationRequest) => MaybeUser | Promise<MaybeUser>;

type MaybeUser = ApplicationUser | null | undefined;

/** The caller, as the application says; null if they must sign in there. */
export type ApplicationCaller = (call: Call) => Promise<Caller | null>;

/** The caller does not see an error of the application's function. Who runs the server gets it with the request, and must know whose it is. */
export function askApplication(auth: ApplicationAuth): ApplicationCaller {
  return async (call) => {
    try {
      return callerOf(await auth({ header: (name) => call.header(name), original: call.original }));
    } catch (error) {
      throw new Error(`the function \`auth\` failed: ${messageOf(error)}`, { cause: error });
    }
  };
}

function callerOf(user: MaybeUser): Caller | null {
  if (user === null || user === undefined) return null;
  const { name, role } = user;
  if (!isActor(name)) throw new TypeError(`auth must return null or a user whose name is ${ACTOR_RULE}`);
  if (!ROLES.includes(role)) throw new TypeError(`auth must return null or a user whose role is one of ${ROLES.join(", ")}`);
  return { name, scopes: SCOPES_OF[role], id: `user:${name}`, user: name };
}
