/** FASTIFY 5: the server as a plugin, `app.register(server.fastify, { prefix: "/admin/jobs" })`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { enter, noteOriginal } from "./place.ts";

/** What the plugin uses of Fastify. Written down here, so that its package is not needed. */
export interface FastifyScope {
  readonly prefix: string;
  removeAllContentTypeParsers(): void;
  addContentTypeParser(type: string, parser: (request: unknown, payload: unknown, done: (error: null) => void) => void): unknown;
  all(path: string, handler: (request: { readonly raw: IncomingMessage }, reply: FastifyAnswer) => unknown): unknown;
  addHook(name: "preClose", hook: () => Promise<void>): unknown;
}

interface FastifyAnswer {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/** A plugin of Fastify. */
export type FastifyPlugin = (scope: FastifyScope) => Promise<void>;

/** `drain` is called before Fastify closes: it waits for open connections, and streams would never end. */
export function fastifyPlugin(
  listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
  drain: () => Promise<void>,
): FastifyPlugin {
  return async (scope) => {
    // A prefix may have parameters, such as /:tenant/jobs, so its length is not that of the path.
    const steps = scope.prefix.replace(/\/$/, "").split("/").length - 1;
    // Only in the scope of this plugin: the body stays unread, whatever parsers the application has.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    scope.addHook("preClose", drain);
    for (const path of ["/", "/*"]) {
      scope.all(path, (request, reply) => {
        reply.hijack();
        noteOriginal(request.raw, request);
        enter(request.raw, withoutSteps(request.raw.url ?? "/", steps));
        listener(request.raw, reply.raw);
      });
    }
  };
}

/** The URL without the first steps of its path. */
function withoutSteps(url: string, count: number): string {
  const [path = "", ...query] = url.split("?");
  const rest = path
    .split("/")
    .slice(count + 1)
    .join("/");
  return [`/${rest}`, ...query].join("?");
}
