import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { JOB_DEFAULTS, type JobSettings, createJob, readJobOptions } from "../../../../src/core/job-options.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { allowsSeveralConnections, openDatabase } from "../../../../src/store/sqlite/database.ts";
import { SCHEMA_VERSION } from "../../../../src/store/sqlite/migrations.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/sqlite-store.ts";
import { parseSqliteUrl } from "../../../../src/store/sqlite/url.ts";
import { temporaryFile } from "./temporary-file.ts";

const options = { clock: systemClock, deadlineMs: 1000 };

describe("the file", () => {
  test("W31: is its owner's alone, and so are its companions", async () => {
    const path = temporaryFile();
    const store = await openSqliteStore(`sqlite:${path}`, options);
    await store.configure("q", { capacity: 1 });
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    await store.close();
  });

  test("is in WAL mode and waits for the disk", async () => {
    const { db } = await openDatabase({ path: temporaryFile(), synchronous: "full", sqliteVersion: "3.53.0" });
    expect(db.prepare("pragma journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(db.prepare("pragma synchronous").get()).toEqual({ synchronous: 2 });
    db.close();
  });

  test("of a newer Millrace is refused with what to do, and left as it was", async () => {
    const path = temporaryFile();
    await (await openSqliteStore(`sqlite:${path}`, options)).close();
    const db = new DatabaseSync(path);
    db.exec(`update millrace_meta set value = ${SCHEMA_VERSION + 1} where name = 'schema'`);
    await expect(openSqliteStore(`sqlite:${path}`, options)).rejects.toMatchObject({
      code: "unsupported_store",
      message: expect.stringContaining("Install the newer version") as string,
    });
    expect(db.prepare("select value from millrace_meta where name = 'schema'").get()).toEqual({ value: SCHEMA_VERSION + 1 });
    db.close();
  });

  test("of a version that did not count losses is brought up: its jobs may be lost as often as one of which nothing is said", async () => {
    const path = temporaryFile();
    const old = await openSqliteStore(`sqlite:${path}`, options);
    const nextId = idMaker(() => Date.now());
    const settings = (maxRetries: number): JobSettings => readJobOptions({ maxRetries }, JOB_DEFAULTS, Date.now());
    const jobs = [0, 1].map((maxRetries) => createJob(nextId(partitionOf("default")), "task", null, settings(maxRetries)));
    await old.insert(jobs);
    await old.close();
    const db = new DatabaseSync(path);
    db.exec("alter table millrace_job drop column lost_count; alter table millrace_job drop column max_lost; drop table millrace_mark");
    db.exec("alter table millrace_job drop column manual_changes; drop table millrace_audit; drop table millrace_payload_schema");
    db.exec("drop table millrace_facet; alter table millrace_queue drop column facets; drop table millrace_mute");
    db.exec("alter table millrace_queue drop column job_defaults; drop table millrace_hour_times");
    db.exec("drop index millrace_in_line; alter table millrace_job drop column line");
    for (const column of ["limits", "limits_without_key", "keyed"]) db.exec(`alter table millrace_queue drop column ${column}`);
    db.exec("drop index millrace_suspended");
    for (const table of ["limit_key", "line", "ring", "queue_rate", "step", "notice", "flow", "member"])
      db.exec(`drop table millrace_${table}`);
    db.exec("update millrace_meta set value = 3 where name = 'schema'");
    db.close();
    const store = await openSqliteStore(`sqlite:${path}`, options);
    const found = await store.find(jobs.map(({ id }) => id));
    expect(found).toMatchObject([
      { maxRetries: 0, maxLost: 0, lostCount: 0 },
      { maxRetries: 1, maxLost: 3, lostCount: 0 },
    ]);
    await store.close();
  });

  test("may hold the tables of an application too, and keeps its user_version", async () => {
    const path = temporaryFile();
    const db = new DatabaseSync(path);
    db.exec("create table orders (id integer primary key); insert into orders values (7); pragma user_version = 42");
    await (await openSqliteStore(`sqlite:${path}`, options)).close();
    expect(db.prepare("select id from orders").get()).toEqual({ id: 7 });
    expect(db.prepare("pragma user_version").get()).toEqual({ user_version: 42 });
    db.close();
  });

  test("in a folder that does not exist is refused in words, and nothing is made", async () => {
    const path = temporaryFile("missing/jobs.db");
    await expect(openSqliteStore(`sqlite:${path}`, options)).rejects.toMatchObject({ code: "store_unavailable" });
    expect(existsSync(path)).toBe(false);
  });

  test("that is no SQLite file, or a folder, is refused by its name", async () => {
    const path = temporaryFile();
    writeFileSync(path, "not a database, but long enough to be looked at as one ".repeat(100));
    await expect(openSqliteStore(`sqlite:${path}`, options)).rejects.toMatchObject({
      code: "unsupported_store",
      message: expect.stringContaining(path) as string,
    });
    await expect(openSqliteStore(`sqlite:${dirname(path)}`, options)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining(dirname(path)) as string,
    });
  });

  test("is made once when six processes open it at the same time", async () => {
    const path = temporaryFile();
    const program = `
      import { openStore } from ${JSON.stringify(new URL("../../../../src/store/open-store.ts", import.meta.url).href)};
      const store = await openStore(process.argv[1]);
      await store.configure("q", { capacity: 1 });
      await store.close();`;
    const processes = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ["--input-type=module", "--eval", program, `sqlite:${path}`], { stdio: ["ignore", "ignore", "inherit"] }),
    );
    const codes = await Promise.all(processes.map(async (child) => ((await once(child, "exit")) as [number])[0]));
    expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
    const db = new DatabaseSync(path);
    expect(db.prepare("select count(*) as queues from millrace_queue").get()).toEqual({ queues: 1 });
    expect(db.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
    db.close();
  });
});

describe("a SQLite that cannot share a file safely", () => {
  test.each([
    ["3.50.4", false],
    ["3.51.2", false],
    ["3.51.3", true],
    ["3.52.0", false],
    ["3.53.0", true],
    ["3.53.4", true],
    ["4.0.0", true],
  ])("%s may be used by several connections: %s", (version, expected) => {
    expect(allowsSeveralConnections(version)).toBe(expected);
  });

  test("serves one process, refuses the second, and serves the next after the first has closed", async () => {
    const url = `sqlite:${temporaryFile()}`;
    const old = { ...options, sqliteVersion: "3.50.4" };
    const first = await openSqliteStore(url, old);
    expect(first.shareable).toBe(false);
    await expect(openSqliteStore(url, old)).rejects.toMatchObject({
      code: "unsupported_store",
      message: expect.stringContaining("Install Node 22.22.3, 24.15, 25.9 or 26") as string,
    });
    await first.configure("q", { capacity: 1 });
    const own = new DatabaseSync(":memory:");
    own.exec("begin");
    expect(() => first.within(own)).toThrow(expect.objectContaining({ code: "unsupported_store" }));
    await first.close();
    const next = await openSqliteStore(url, old);
    expect(await next.queues()).toMatchObject([{ name: "q" }]);
    await next.close();
  });
});

describe("a sqlite: URL", () => {
  test.each([
    ["sqlite:jobs.db", "jobs.db", "full"],
    ["sqlite:/var/lib/jobs.db", "/var/lib/jobs.db", "full"],
    ["sqlite:///var/lib/jobs.db", "/var/lib/jobs.db", "full"],
    ["sqlite:my%20jobs.db?synchronous=normal", "my jobs.db", "normal"],
  ])("%s", (url, path, synchronous) => {
    expect(parseSqliteUrl(url)).toEqual({ path, synchronous });
  });

  test.each(["sqlite:", "sqlite::memory:", "sqlite://jobs.db", "sqlite:50%.db", "sqlite:a.db?synchronous=off", "sqlite:a.db?cache=shared"])(
    "%s is refused",
    (url) => {
      expect(() => parseSqliteUrl(url)).toThrow(expect.objectContaining({ code: "invalid_input", field: "url" }));
    },
  );
});
