import { Inject } from "@nestjs/common";

/** The token of the client, for `inject` of factories, `app.get` and `overrideProvider`. */
export const MILLRACE_CLIENT: unique symbol = Symbol("MILLRACE_CLIENT");

/** The token of the server; its value is null if the module has no `server`. */
export const MILLRACE_SERVER: unique symbol = Symbol("MILLRACE_SERVER");

/** The token of the client of the module with this name; without a name, MILLRACE_CLIENT. */
export function clientToken(name?: string): symbol {
  return name === undefined ? MILLRACE_CLIENT : Symbol.for(`MILLRACE_CLIENT:${name}`);
}

/** The token of the server of the module with this name; without a name, MILLRACE_SERVER. */
export function serverToken(name?: string): symbol {
  return name === undefined ? MILLRACE_SERVER : Symbol.for(`MILLRACE_SERVER:${name}`);
}

/** Injects the client into a parameter of a constructor, or a property. `name` is that of its module, if there are several. */
export function InjectClient(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(clientToken(name));
}
