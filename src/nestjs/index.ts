/** Millrace for NestJS. */
export { BatchJobHandler, JobHandler } from "./job-handler.ts";
export type { DecoratorOf, JobHandlerOptions } from "./job-handler.ts";
export { MillraceModule } from "./millrace-module.ts";
export type { MillraceModuleAsyncOptions, MillraceModuleOptions } from "./millrace-module.ts";
export { MillraceTestingModule } from "./millrace-testing-module.ts";
export type { MillraceTestingModuleOptions } from "./millrace-testing-module.ts";
export { clientToken, InjectClient, MILLRACE_CLIENT, MILLRACE_SERVER, serverToken } from "./tokens.ts";
