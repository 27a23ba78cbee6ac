import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { Connections } from "../../../../src/store/postgres/connections.ts";
import type { Driver } from "../../../../src/store/postgres/driver.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/url.ts";
import { HAS_PGBOUNCER, startPgbouncer } from "../../../servers/pgbouncer.ts";
import { freshUrl, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

const ASK = `select current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'),
  current_setting('tcp_keepalives_idle')::int, current_setting('tcp_user_timeout')`;

function connectionsTo(url: string): Connections {
  const driver = pg as unknown as Driver;
  const connections = new Connections({ driver, address: parsePostgresUrl(url), clock: systemClock, deadlineMs: 5_000, poolSize: 1 });
  onTestFinished(() => connections.close());
  return connections;
}

test("every session of ours gives up on locks and open transactions by itself, and the server asks whether we live", async () => {
  const connections = connectionsTo(freshUrl(server()));
  for (const manner of [{}, { beat: true }]) expect(await connections.call(ASK, [], manner)).toEqual([["5s", "5s", 10, "25000"]]);
});

// The pooler is no part of the set-up: where it is not installed there is nothing to try this on.
test.skipIf(!HAS_PGBOUNCER)("behind a pooler nothing is set, because it would stay behind for whoever comes next", async () => {
  const url = new URL(freshUrl(server()));
  const pooler = await startPgbouncer(Number(url.port));
  onTestFinished(() => pooler.stop());
  url.port = String(pooler.port);
  expect(await connectionsTo(url.href).call("select current_setting('lock_timeout')")).toEqual([["0"]]);
});
