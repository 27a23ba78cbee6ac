/** Millrace for NestJS. */
export { BatchJobHandler, JobHandler } from "./job-handler.ts";
export type { DecoratorOf } from "./job-handler.ts";
export { MillraceModule } from "./millrace-module.ts";
export type { MillraceModuleAsyncOptions, MillraceModuleOptions } from "./millrace-module.ts";
export { MillraceTestingModule } from "./millrace-testing-module.ts";
export { InjectClient, MILLRACE_CLIENT, MILLRACE_SERVER } from "./tokens.ts";
