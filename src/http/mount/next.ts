/** NEXT.JS, app router: a server as route handlers of `app/admin/jobs/[[...path]]/route.ts`. */
import { atPath, type FetchEnv } from "./place.ts";

/** The methods that a route of Next.js can have. */
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** A route handler of Next.js. */
export type NextHandler = (request: Request, context: { readonly params: Promise<object> }) => Promise<Response>;

/** Route handlers of Next.js by their methods. */
export type NextHandlers = Readonly<Record<(typeof METHODS)[number], NextHandler>>;

interface FetchServer {
  readonly fetch: (request: Request, env?: FetchEnv) => Promise<Response>;
}

/**
 * Route handlers for `app/admin/jobs/[[...path]]/route.ts` of Next.js: `export const { GET, POST, PUT, PATCH, DELETE } = nextHandlers(openServer)`.
 * The function is called for every request and should keep what it opened. It is not called while Next.js builds the application.
 */
export function nextHandlers(openServer: () => FetchServer | Promise<FetchServer>): NextHandlers {
  const handler: NextHandler = async (request, { params }) => {
    const { pathname } = new URL(request.url);
    const mount = mountOf(pathname, await params);
    const { fetch } = await openServer();
    return fetch(...atPath(request, undefined, pathname.slice(mount.length) || "/", pathname));
  };
  return Object.fromEntries(METHODS.map((method) => [method, handler])) as NextHandlers;
}

/** The path without the steps that `[[...path]]` matched. They are the one parameter that is a list; at the mount itself there is none. */
function mountOf(pathname: string, params: object): string {
  const matched = Object.values(params).find((value) => Array.isArray(value)) as readonly string[] | undefined;
  const steps = pathname.replace(/\/$/, "").split("/");
  return steps.slice(0, steps.length - (matched?.length ?? 0)).join("/");
}
