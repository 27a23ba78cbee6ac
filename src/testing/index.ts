/** For tests of applications. */
export { createTestClient } from "./test-client.ts";
export type { TestClient, TestClientOptions } from "./test-client.ts";
export type { DrainOptions, DrainSummary } from "./drain.ts";
export type { EnqueuedFilter } from "./enqueued.ts";
export type { CallAnswer } from "./resolved-calls.ts";
export type { TestTransaction } from "./transactions.ts";
export { VirtualClock } from "./virtual-clock.ts";
