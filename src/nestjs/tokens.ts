import { Inject } from "@nestjs/common";

/** The token of the client, for `inject` of factories, `app.get` and `overrideProvider`. */
export const MILLRACE_CLIENT: unique symbol = Symbol("MILLRACE_CLIENT");

/** The token of the server; its value is null if the module has no `server`. */
export const MILLRACE_SERVER: unique symbol = Symbol("MILLRACE_SERVER");

/** Injects the client into a parameter of a constructor, or a property. */
export function InjectClient(): PropertyDecorator & ParameterDecorator {
  return Inject(MILLRACE_CLIENT);
}
