import pg from "pg";
import { expect, test } from "vitest";
import type { Driver } from "../../../../src/store/postgres/driver.ts";
import { claimOf, freshUrl, jobOf, openStoreOn, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

test("a pooler may lose what was prepared: the call is sent again without", async () => {
  const clients: pg.PoolClient[] = [];
  class WatchedPool extends pg.Pool {
    constructor(options: pg.PoolConfig) {
      super(options);
      this.on("connect", (client) => clients.push(client));
    }
  }
  const driver = { Client: pg.Client, Pool: WatchedPool } as unknown as Driver;
  const store = await openStoreOn(freshUrl(server()), { driver, poolSize: 1 });
  await store.insert([jobOf()]);
  for (const client of clients) await client.query("deallocate all");
  expect(await store.insert([jobOf()])).toMatchObject([{ kind: "created" }]);
  expect((await store.exchange([], [claimOf()])).claimed[0]).toHaveLength(2);
});
