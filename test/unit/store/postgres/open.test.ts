import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { type Driver, loadDriver } from "../../../../src/store/postgres/driver.ts";
import { SCHEMA_VERSION } from "../../../../src/store/postgres/migrations.ts";
import { openPostgresStore } from "../../../../src/store/postgres/postgres-store.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/url.ts";
import { TcpProxy } from "../../../servers/tcp-proxy.ts";
import { freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();
const options = { clock: systemClock, deadlineMs: 5_000 };

async function ask(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server().url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** A process of its own that opens the store and configures a queue. */
function openElsewhere(url: string): ChildProcess {
  const program = `
    import { openStore } from ${JSON.stringify(new URL("../../../../src/store/open-store.ts", import.meta.url).href)};
    const store = await openStore(process.argv[1]);
    await store.configure("q", { capacity: 1 });
    await store.close();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program, url], { stdio: ["ignore", "ignore", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

describe("the schema", () => {
  test("is made once when six processes open it at the same time", async () => {
    const url = freshUrl(server());
    const processes = Array.from({ length: 6 }, () => openElsewhere(url));
    const codes = await Promise.all(processes.map(async (child) => ((await once(child, "exit")) as [number])[0]));
    expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
    const store = await openStoreOn(url);
    expect(await store.queues()).toMatchObject([{ name: "q" }]);
  });

  test("of one that was killed half way is made by the next, which waits for that one's end", async () => {
    const url = freshUrl(server());
    const { hostname: host, port } = new URL(url);
    const wire = await TcpProxy.to(Number(port), { host });
    onTestFinished(() => wire.close());
    const wired = new URL(url);
    wired.host = `127.0.0.1:${wire.port}`;
    // By then it has the lock, and has begun to make the schema.
    const halfWay = wire.stallAt(/create table \S+\.queue/);
    const dying = openElsewhere(wired.href);
    await halfWay;
    const opening = openStoreOn(url);
    const locks = "select granted from pg_locks where locktype = 'advisory' order by granted";
    await expect.poll(() => ask(locks)).toEqual([{ granted: false }, { granted: true }]);
    dying.kill("SIGKILL");
    await once(dying, "exit");
    wire.heal();
    const store = await opening;
    expect(await store.insert([jobOf()])).toMatchObject([{ kind: "created" }]);
  });

  test("of a newer Millrace is refused with what to do, and left as it was", async () => {
    const url = freshUrl(server());
    const schema = new URL(url).searchParams.get("schema")!;
    await (await openPostgresStore(url, options)).close();
    await ask(`update ${schema}.meta set value = ${SCHEMA_VERSION + 1} where name in ('schema', 'works_from')`);
    await expect(openPostgresStore(url, options)).rejects.toMatchObject({
      code: "unsupported_store",
      message: expect.stringContaining("Install the newer version") as string,
    });
    expect(await ask(`select value from ${schema}.meta where name = 'schema'`)).toEqual([{ value: String(SCHEMA_VERSION + 1) }]);
  });

  test("of a newer Millrace that says that ours can work on it is taken, and left as it was", async () => {
    const url = freshUrl(server());
    const schema = schemaOf(url);
    await (await openPostgresStore(url, options)).close();
    await ask(`update ${schema}.meta set value = ${SCHEMA_VERSION + 1} where name = 'schema'`);
    await ask(`update ${schema}.meta set value = ${SCHEMA_VERSION} where name = 'works_from'`);
    const store = await openStoreOn(url);
    expect(await store.insert([jobOf()])).toMatchObject([{ kind: "created" }]);
    expect(await ask(`select value from ${schema}.meta where name = 'schema'`)).toEqual([{ value: String(SCHEMA_VERSION + 1) }]);
  });

  test("has the name that the URL gives, beside others", async () => {
    const [first, second] = [await openStoreOn(freshUrl(server())), await openStoreOn(freshUrl(server()))];
    await first.insert([jobOf()]);
    expect(await second.queues()).toEqual([]);
  });
});

describe("a server or driver that does not fit", () => {
  /** A driver whose server answers the first question so. */
  function serverOf(number: number, version: string, encoding: string): Driver {
    const on = (event: string, listener: () => void): void => void (event === "end" && listener());
    const client = { query: async () => ({ rows: [[number, version, encoding]] }), release: () => {}, on };
    class Pool {
      connect = async () => client;
      end = async () => {};
      on = (): void => {};
    }
    return { Pool } as unknown as Driver;
  }

  test("PostgreSQL 13 is refused by its version", async () => {
    const driver = serverOf(130_014, "13.14", "UTF8");
    await expect(openPostgresStore("postgres://localhost/app", { ...options, driver })).rejects.toMatchObject({
      code: "unsupported_store",
      message: expect.stringMatching(/13\.14.*14 or newer/) as string,
    });
  });

  test("a database that cannot hold every text is refused", async () => {
    const driver = serverOf(180_000, "18.0", "LATIN1");
    await expect(openPostgresStore("postgres://localhost/app", { ...options, driver })).rejects.toMatchObject({
      code: "unsupported_store",
      message: expect.stringContaining("LATIN1") as string,
    });
  });

  test("a missing package pg is named with the command that installs it", async () => {
    const missing = Object.assign(new Error("Cannot find package 'pg'"), { code: "ERR_MODULE_NOT_FOUND" });
    await expect(loadDriver(() => Promise.reject(missing))).rejects.toMatchObject({
      code: "unsupported_store",
      message: expect.stringContaining("npm install pg") as string,
    });
  });

  test("a login that is refused is told at once", async () => {
    const url = new URL(server().url);
    url.pathname = "/no_such_database";
    await expect(openPostgresStore(url.href, { ...options, deadlineMs: 60_000 })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("no_such_database") as string,
    });
  });
});

describe("a postgres: URL", () => {
  test.each([
    ["postgres://localhost/app", "millrace", "localhost:5432/app"],
    ["postgresql://u:secret@db.example.org:6543/app?schema=jobs_2", "jobs_2", "db.example.org:6543/app"],
    ["postgres:///app?host=/var/run/postgresql", "millrace", "/var/run/postgresql:5432/app"],
  ])("%s", (url, schema, place) => {
    expect(parsePostgresUrl(url)).toMatchObject({ schema, place });
    expect(parsePostgresUrl(url).connectionString).not.toContain("schema");
  });

  test.each([
    "postgres:",
    "mysql://localhost/app",
    "postgres://h/app?schema=",
    "postgres://h/a?schema=A",
    "postgres://h/a?schema=x;drop",
    "postgres://h/a?schema=pg_x",
  ])("%s is refused", (url) => {
    expect(() => parsePostgresUrl(url)).toThrow(expect.objectContaining({ code: "invalid_input", field: "url" }));
  });
});
