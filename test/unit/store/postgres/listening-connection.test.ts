import pg from "pg";
import { describe, expect, test } from "vitest";
import type { Driver } from "../../../../src/store/postgres/driver.ts";
import { workIn } from "../work-in.ts";
import { freshUrl, jobOf, openStoreOn, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

describe("the connection that listens", () => {
  test("listens again after it was lost, and tells everybody to look", async () => {
    const url = freshUrl(server());
    const [here, there] = [await openStoreOn(url), await openStoreOn(url)];
    const first = workIn(there, "first");
    const { promise: looking, resolve: look } = Promise.withResolvers<void>();
    let isCut = false;
    there.watch(({ topic }) => {
      if (topic === "schedules" && isCut) look();
    });
    await here.insert([jobOf({ queue: "first" })]);
    await first;
    const operator = new pg.Client({ connectionString: server().url });
    await operator.connect();
    isCut = true;
    const cut = await operator.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'millrace' and query ~ '^listen|trial'",
    );
    await operator.end();
    expect(cut.rowCount).toBeGreaterThan(0);
    await looking;
    const second = workIn(there, "second");
    await here.insert([jobOf({ queue: "second" })]);
    await second;
  });

  test("that was given up while it was being made is made again for the next who wants to hear", async () => {
    const url = freshUrl(server());
    const [here, there] = [await openStoreOn(url), await openStoreOn(url)];
    const stop = there.watch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    stop();
    const found = workIn(there, "mail");
    await here.insert([jobOf({ queue: "mail" })]);
    await found;
  });

  test("that never hears anything, as behind a pooler, looks for work by itself", async () => {
    class DeafClient extends pg.Client {
      override on(...[event, listener]: Parameters<pg.Client["on"]>): this {
        return (event as string) === "notification" ? this : super.on(event, listener);
      }
    }
    const url = freshUrl(server());
    const driver = { Client: DeafClient, Pool: pg.Pool } as unknown as Driver;
    const [here, there] = [await openStoreOn(url), await openStoreOn(url, { driver })];
    // Whoever begins to watch looks once; this one has done so when the others come.
    there.watch(() => {});
    for (const queue of ["first", "second", "third"]) {
      const found = workIn(there, queue);
      await here.insert([jobOf({ queue })]);
      await found;
    }
  });
});
