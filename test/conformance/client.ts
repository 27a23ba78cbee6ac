import { describe, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { bulkSuite } from "./client-bulk.ts";
import { coalesceSuite } from "./client-coalesce.ts";
import { facetSuite } from "./client-facets.ts";
import { flowSuite } from "./client-flows.ts";
import { hookSuite } from "./client-hooks.ts";
import { inputSuite } from "./client-input.ts";
import { internalSuite } from "./client-internal.ts";
import { jobSuite } from "./client-jobs.ts";
import { limitSuite } from "./client-limits.ts";
import { manageSuite } from "./client-manage.ts";
import { scheduleSuite } from "./client-schedules.ts";
import type { ClientSource, OpenedClient } from "./client-sources.ts";
import { stepSuite } from "./client-steps.ts";
import { workSuite } from "./client-work.ts";

/** A promise of the Client, with the test that proves it. */
export type Promises = (promise: string, proof: (client: Client, opened: OpenedClient) => Promise<void>) => void;

/** THE CLIENT SUITE: what every client promises, over a store and over a server. Time is real here, so it is never measured. */
export function clientSuite(source: ClientSource): void {
  const promises: Promises = (promise, proof) =>
    test(promise, async () => {
      const opened = await source.open();
      try {
        await proof(opened.client, opened);
      } finally {
        await opened.close();
      }
    });
  describe(`a client ${source.name}`, () => {
    jobSuite(promises);
    bulkSuite(promises);
    coalesceSuite(promises);
    facetSuite(promises);
    flowSuite(promises);
    internalSuite(promises);
    limitSuite(promises);
    stepSuite(promises);
    manageSuite(promises);
    scheduleSuite(promises);
    workSuite(promises, source);
    hookSuite(promises);
    inputSuite(promises);
  });
}

/** What is worth proving once more on an engine whose store has its own suite: that the wire carries all of it. */
export function mainPathSuite(source: ClientSource): void {
  const promises: Promises = (promise, proof) =>
    test(promise, async () => {
      const opened = await source.open();
      try {
        await proof(opened.client, opened);
      } finally {
        await opened.close();
      }
    });
  describe(`a client ${source.name}`, () => {
    jobSuite(promises);
    bulkSuite(promises);
    coalesceSuite(promises);
    facetSuite(promises);
    flowSuite(promises);
    internalSuite(promises);
    limitSuite(promises);
    stepSuite(promises);
    workSuite(promises, source);
    hookSuite(promises);
  });
}
