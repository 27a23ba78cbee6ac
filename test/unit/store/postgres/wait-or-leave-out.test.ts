import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { Connections } from "../../../../src/store/postgres/connections.ts";
import type { Driver } from "../../../../src/store/postgres/driver.ts";
import { LOCKED } from "../../../../src/store/postgres/failures.ts";
import { waitOrLeaveOut } from "../../../../src/store/postgres/wait-or-leave-out.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/url.ts";
import { VirtualClock } from "../../../../src/testing/virtual-clock.ts";
import { serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

test("a call that goes on without the items that others hold has no more time than any other", async () => {
  const clock = new VirtualClock(0);
  const met = Promise.withResolvers<void>();
  const driver = pg as unknown as Driver;
  const address = parsePostgresUrl(server().url);
  const connections = new Connections({ driver, address, clock, deadlineMs: 1_000, poolSize: 1, onLocked: () => met.resolve() });
  onTestFinished(() => connections.close());
  const goesOn = Promise.withResolvers<void>();
  const asking = waitOrLeaveOut(connections, {
    items: 2,
    async ask(_sql, careful) {
      if (careful) {
        goesOn.resolve();
        return new Promise(() => {});
      }
      await clock.advance(900);
      throw Object.assign(new Error("waited too long for a row"), { code: LOCKED });
    },
    leavesOut: () => false,
  });
  const failed = asking.catch((error: unknown) => error);
  await met.promise;
  // The pause before the next try.
  await clock.advance(20);
  await goesOn.promise;
  await clock.advance(80);
  expect(await failed).toMatchObject({ code: "store_unavailable" });
});
