/** The server forgets its scripts, or ends the connections of its clients, in mid-load. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { admin } from "../servers/redis.ts";
import { Load } from "./load.ts";
import { between, FAULTS, keepHarming } from "./nemesis.ts";
import { type FaultyServer, POSTGRES, REDIS } from "./servers.ts";

describe("Redis", () => {
  let server: FaultyServer;
  beforeAll(async () => void (server = await REDIS.start()));
  afterAll(() => server.stop());

  /** How often a script was asked for that the server did not know. */
  const notKnown = (): Promise<number> =>
    admin(server.port, async (redis) => Number(/errorstat_NOSCRIPT:count=(\d+)/.exec(await redis.info("errorstats"))?.[1] ?? 0));

  test("that forgets its scripts is given them again, and nobody notices", { timeout: 120_000 }, async () => {
    const { url } = server.store();
    const load = await Load.start({ url, witness: url });
    await load.goesOn(50);
    const before = await notKnown();
    const flush = (): Promise<number> => admin(server.port, async (redis) => ((await redis.script("FLUSH")) === "OK" ? 1 : 0));
    const nemesis = keepHarming(flush, between(100, 300));
    await nemesis.effects(2 * FAULTS);
    await load.goesOn(100);
    await nemesis.stop();
    await load.finish();
    expect((await notKnown()) - before).toBeGreaterThan(FAULTS);
    expect(load.lines.filter(({ op }) => op === "unknown")).toEqual([]);
  });

  test("that ends the connections of its clients finds them connected again", { timeout: 120_000 }, async () => {
    const { url } = server.store();
    const load = await Load.start({ url, witness: url });
    const end = (kind: "NORMAL" | "PUBSUB"): Promise<number> =>
      admin(server.port, async (redis) => Number(await redis.call("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")));
    const ended = { normal: 0, listening: 0 };
    const nemesis = keepHarming(
      async () => {
        ended.normal += await end("NORMAL");
        ended.listening += await end("PUBSUB");
        return 1;
      },
      between(100, 500),
    );
    await nemesis.effects(FAULTS);
    await load.goesOn(100);
    await nemesis.stop();
    await load.finish();
    expect(ended.normal).toBeGreaterThan(FAULTS);
    expect(ended.listening).toBeGreaterThan(FAULTS);
    expect(load.lines.filter(({ op }) => op === "unknown")).toEqual([]);
  });
});

describe("PostgreSQL", () => {
  let server: FaultyServer;
  beforeAll(async () => void (server = await POSTGRES.start()));
  afterAll(() => server.stop());

  test("that ends the backends of its clients finds them connected and listening again", { timeout: 120_000 }, async () => {
    const { url } = server.store();
    const load = await Load.start({ url, witness: url });
    const operator = new pg.Client({ host: "127.0.0.1", port: server.port, user: "postgres", database: "postgres" });
    await operator.connect();
    const ended = { all: 0, listening: 0 };
    const nemesis = keepHarming(
      async () => {
        const { rows } = await operator.query<{ listens: boolean; ended: boolean }>(
          "select query ~ '^listen|trial' as listens, pg_terminate_backend(pid) as ended from pg_stat_activity where application_name = 'millrace'",
        );
        ended.all += rows.filter((row) => row.ended).length;
        ended.listening += rows.filter((row) => row.ended && row.listens).length;
        return 1;
      },
      between(100, 500),
    );
    // The listening ones come back with pauses that grow, so that not every blow meets one.
    await nemesis.effects(FAULTS);
    await load.goesOn(100);
    await nemesis.stop();
    await operator.end();
    await load.finish();
    expect(ended.all).toBeGreaterThan(FAULTS);
    expect(ended.listening).toBeGreaterThan(1);
    expect(load.lines.filter(({ op }) => op === "unknown")).toEqual([]);
  });
});
