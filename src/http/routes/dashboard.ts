/** Sign-in to the dashboard. */
import { MillraceError } from "../../core/errors.ts";
import type { dashboardRoutes } from "../contract/dashboard.ts";
import { type Handlers, ok, type Reply } from "../route-input.ts";
import type { SignIn } from "../sign-in.ts";

/** `signIn` is null if the server has no dashboard. */
export function dashboardHandlers(signIn: SignIn | null): Handlers<keyof typeof dashboardRoutes> {
  const required = (): SignIn => {
    if (signIn === null) throw new MillraceError("not_found", "this server has no dashboard");
    return signIn;
  };
  return {
    "GET /dashboard/session": async ({ call }) => {
      const signedIn = required().openBasic(call);
      const session = await required().sessionOf(call, signedIn);
      return signedIn === null ? ok(session) : { ...ok(session), headers: { "Set-Cookie": signedIn.cookie } };
    },
    "POST /dashboard/login": ({ call, body }) => cookieReply(required().open(call, body.username, body.password).cookie),
    "POST /dashboard/logout": async ({ call }) => cookieReply(await required().close(call)),
  };
}

function cookieReply(cookie: string): Reply<null> {
  return { status: 204, body: null, headers: { "Set-Cookie": cookie } };
}
