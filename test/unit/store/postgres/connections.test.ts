import { execFileSync } from "node:child_process";
import pg from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { Connections } from "../../../../src/store/postgres/connections.ts";
import type { Driver } from "../../../../src/store/postgres/driver.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/url.ts";
import { serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

/** Half of the deadline. */
const SILENCE_MS = 2_000;

function open(driver: unknown, deadlineMs: number): Connections {
  const address = parsePostgresUrl(server().url);
  const connections = new Connections({
    driver: driver as Driver,
    address,
    clock: systemClock,
    deadlineMs,
    poolSize: 1,
    refusedMs: Infinity,
  });
  onTestFinished(() => connections.close());
  return connections;
}

class HangingPool {
  connect = (): Promise<never> => new Promise(() => {});
  end = async (): Promise<void> => {};
  on = (): void => {};
}

describe("a call", () => {
  test("fails at its deadline, also while it waits for a connection that never comes", async () => {
    const connections = open({ Client: pg.Client, Pool: HangingPool }, 100);
    await expect(connections.call("select 1")).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("within 100ms") as string,
    });
  });

  test("is refused at once while ten thousand others wait, and these fail when they are given up", async () => {
    const connections = open({ Client: pg.Client, Pool: HangingPool }, 60_000);
    const waiting = Array.from({ length: 10_000 }, () => connections.call("select 1"));
    const ends = Promise.allSettled(waiting);
    await expect(connections.call("select 1")).rejects.toMatchObject({ code: "store_unavailable", retryAfterMs: 1_000 });
    connections.giveUp();
    const reasons = (await ends).map((end) => (end as PromiseRejectedResult).reason as Error);
    expect(new Set(reasons.map(({ message }) => message.replace(/.* did not/, "did not")))).toEqual(
      new Set(["did not answer before the client was closed: no answer"]),
    );
  });

  test("whose answer came while a handler blocked the loop, for longer than silence is endured, is answered by it", async () => {
    const connections = open(pg, 2 * SILENCE_MS);
    const [first] = await connections.call("select pg_backend_pid()");
    const asking = connections.call("select pg_backend_pid() from pg_sleep(0.3)");
    // It has left by then, and its answer comes later.
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
    const until = performance.now() + SILENCE_MS + 100;
    blockUntilAnswered(first![0] as number);
    while (performance.now() < until);
    expect(await asking).toEqual([first]);
  });
});

test("connections that are made beside the application's pool end a silent try to connect, whatever its settings", async () => {
  const given: pg.PoolConfig[] = [];
  class Pool extends pg.Pool {
    constructor(options: pg.PoolConfig) {
      super(options);
      given.push(options);
    }
  }
  const clientOptions = { connectionString: server().url, connectionTimeoutMillis: 0, keepAlive: false };
  const address = { ...parsePostgresUrl(server().url), clientOptions };
  const driver = { Client: pg.Client, Pool } as unknown as Driver;
  const connections = new Connections({ driver, address, clock: systemClock, deadlineMs: 1_000, poolSize: 1 });
  onTestFinished(() => connections.close());
  expect(given.map(({ connectionTimeoutMillis, keepAlive }) => [connectionTimeoutMillis, keepAlive])).toEqual([
    [1_000, true],
    [1_000, true],
  ]);
});

describe("the goodbye of a connection outside of the pool", () => {
  test("is cut off when nothing is waited for any more", async () => {
    const connections = open(pg, 60_000);
    const ended = Promise.withResolvers<void>();
    // As one to a server that answers nothing: it ends with its socket.
    const client = { end: () => ended.promise, connection: { stream: { destroy: () => ended.resolve() } } } as never;
    // No timer ends it.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const disconnected = connections.disconnect(client);
    connections.giveUp();
    await disconnected;
  });
});

describe("a connection whose session is being settled", () => {
  test.each([{ beat: false }, { beat: true }])("is for others once the call that wanted it has failed: %o", async (manner) => {
    const held = Promise.withResolvers<void>();
    const asked: Promise<unknown>[] = [];
    let settling = 0;
    class HeldClient extends pg.Client {
      override query = (async (query: pg.QueryArrayConfig) => {
        if (query.text.includes("set_config") && ++settling === 2) await held.promise;
        return super.query(query);
      }) as unknown as pg.Client["query"];
    }
    class ToldPool extends pg.Pool {
      constructor(options: pg.PoolConfig) {
        super({ ...options, Client: HeldClient });
      }
      override connect = (() => {
        const connecting = super.connect();
        asked.push(connecting);
        return connecting;
      }) as unknown as pg.Pool["connect"];
    }
    const connections = open({ Client: pg.Client, Pool: ToldPool }, 2_000);
    let second: Promise<unknown> | null = null;
    const first = connections.run(async (sql) => {
      await sql.query("select 1");
      second ??= connections.call("select 2", [], manner);
      // The second waits for this only connection by the time that it is lost.
      while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
      throw new Error("the connection is lost");
    }, manner);
    await expect(first).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(second).rejects.toMatchObject({ code: "store_unavailable" });
    expect(settling).toBe(2);
    await asked[1]!.catch(() => {});
    held.resolve();
    expect(await connections.call("select 3", [], manner)).toEqual([[3]]);
  });
});

/** Blocks this loop until the server has answered what it was asked on a connection. */
function blockUntilAnswered(pid: number): void {
  const program = `
    import pg from "pg";
    const client = new pg.Client({ connectionString: process.argv[1] });
    await client.connect();
    while ((await client.query("select from pg_stat_activity where pid = $1 and state = 'idle' and query ~ 'pg_sleep'", [process.argv[2]])).rowCount === 0);
    await client.end();`;
  execFileSync(process.execPath, ["--input-type=module", "--eval", program, server().url, String(pid)], { stdio: "inherit" });
}
