import { existsSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { inspectStore, openStore } from "../../../../src/store/open-store.ts";
import { inspectSqlite } from "../../../../src/store/sqlite/inspect.ts";
import { SCHEMA_VERSION } from "../../../../src/store/sqlite/migrations.ts";
import { temporaryFile } from "./temporary-file.ts";

describe("a look at a file", () => {
  test("that is not there yet makes none", async () => {
    const path = temporaryFile();
    const report = await inspectStore(`sqlite:${path}`);
    expect(report.schema).toEqual({ found: 0, wanted: SCHEMA_VERSION });
    expect(existsSync(path)).toBe(false);
  });

  test("that is in use disturbs nobody", async () => {
    const path = temporaryFile();
    const store = await openStore(`sqlite:${path}`);
    onTestFinished(() => store.close());
    expect((await inspectStore(`sqlite:${path}`)).schema).toEqual({ found: SCHEMA_VERSION, wanted: SCHEMA_VERSION });
    expect(await store.queues()).toEqual([]);
  });

  test("leaves nothing beside it", async () => {
    const path = temporaryFile();
    await (await openStore(`sqlite:${path}`)).close();
    await inspectStore(`sqlite:${path}`);
    expect(readdirSync(dirname(path))).toEqual(["jobs.db"]);
  });

  test("with a SQLite that cannot share it is doubtful, and refused while another uses it", async () => {
    const path = temporaryFile();
    const url = `sqlite:${path}`;
    await (await openStore(url)).close();
    expect(inspectSqlite(url, "3.46.0").findings.map(({ grade }) => grade)).toEqual(["good", "doubtful", "good"]);
    expect(inspectSqlite(`${url}?synchronous=normal`).findings.map(({ grade }) => grade)).toEqual(["good", "good", "doubtful"]);
  });
});
