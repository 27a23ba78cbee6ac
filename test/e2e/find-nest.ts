import { registerHooks } from "node:module";

/** Our sources import NestJS as the installed package does. Here it is found where the tests have it, and not beside the sources. */
export function findNest(): void {
  const parentURL = new URL("../frameworks/package.json", import.meta.url).href;
  registerHooks({
    resolve: (specifier, context, next) => next(specifier, specifier.startsWith("@nestjs/") ? { ...context, parentURL } : context),
  });
}
