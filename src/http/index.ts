/** The HTTP server of Millrace: mount it in your application, or give it a port. */
export { createServer } from "./server.ts";
export type { DashboardOptions, DashboardUser, Limiter, RateLimit, RequestFacts, Server, ServerLimits, ServerOptions } from "./server.ts";
export { listen } from "./listen.ts";
export type { Listening, ListenOptions } from "./listen.ts";
