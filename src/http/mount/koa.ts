/** KOA: the server as a middleware, `app.use(server.koa)`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type MountedRequest, noteOriginal, urlBelow } from "./place.ts";

/** What the middleware uses of Koa. Written down here, so that its package is not needed. */
export interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly originalUrl: string;
  readonly request: object;
  respond?: boolean;
}

/** A middleware of Koa. */
export type KoaMiddleware = (ctx: KoaContext, next: () => Promise<unknown>) => Promise<void>;

export function koaMiddleware(listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void, basePath: string): KoaMiddleware {
  return async (ctx, next) => {
    const incoming: MountedRequest = ctx.req;
    incoming.originalUrl ??= ctx.originalUrl;
    // Body parsers for Koa leave it there.
    incoming.body ??= (ctx.request as { body?: unknown }).body;
    if (urlBelow(basePath, incoming) === null) return void (await next());
    ctx.respond = false;
    noteOriginal(incoming, ctx);
    // Middleware around this one goes on when the answer has ended.
    const ended = new Promise<void>((resolve) => {
      // The caller hung up during earlier middleware: no event will follow.
      if (ctx.res.closed) resolve();
      else ctx.res.once("close", resolve);
    });
    listener(incoming, ctx.res);
    await ended;
  };
}
