import { chmodSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { examineNode } from "../../../src/cli/doctor/examine.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.ts";
import { folderOfOwn, typeCommand } from "./type-command.ts";

interface Line {
  readonly kind: "check" | "setting";
  readonly name: string;
  readonly grade?: string;
  readonly message?: string;
  readonly value?: string;
  readonly from?: string | null;
  readonly source?: string | null;
}

async function examine(cwd: string, env: Readonly<Record<string, string>> = {}): Promise<{ code: number; lines: Line[] }> {
  const { code, stdout } = await typeCommand(["doctor", "--json"], { cwd, env });
  return {
    code,
    lines: stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Line),
  };
}

function gradesOf(lines: readonly Line[], name: string): (string | undefined)[] {
  return lines.filter((line) => line.kind === "check" && line.name === name).map(({ grade }) => grade);
}

describe("doctor", () => {
  test("looks at a file that is not there yet, and does not make it", async () => {
    const cwd = folderOfOwn();
    const { code, lines } = await examine(cwd);
    expect(code).toBe(0);
    expect(lines).toContainEqual({
      kind: "check",
      name: "schema",
      grade: "doubtful",
      message: `there is no schema yet: run millrace migrate, or let the first process update it to ${SCHEMA_VERSION}`,
    });
    expect(existsSync(join(cwd, "millrace.db"))).toBe(false);
  });

  test("finds all well with a store in use", async () => {
    const cwd = folderOfOwn();
    await typeCommand(["migrate"], { cwd });
    const { code, lines } = await examine(cwd);
    expect(code).toBe(0);
    expect(new Set(lines.filter(({ kind }) => kind === "check").map(({ grade }) => grade))).toEqual(new Set(["good"]));
    expect(lines).toContainEqual({ kind: "check", name: "schema", grade: "good", message: `schema ${SCHEMA_VERSION} is up to date` });
    expect(lines).toContainEqual({ kind: "check", name: "dead letters", grade: "good", message: "0 dead letters" });
  });

  test("doubts a file that others can read, and jobs that nobody runs", async () => {
    const cwd = folderOfOwn();
    await typeCommand(["enqueue", "a"], { cwd });
    chmodSync(join(cwd, "millrace.db"), 0o644);
    const { code, lines } = await examine(cwd);
    expect(code).toBe(0);
    expect(gradesOf(lines, "store")).toContain("doubtful");
    expect(lines).toContainEqual({
      kind: "check",
      name: "workers",
      grade: "doubtful",
      message: "No worker is running, and jobs of 1 type are pending; start one: millrace worker --handlers ./jobs.ts",
    });
  });

  test("does not doubt jobs of a queue that somebody paused", async () => {
    const cwd = folderOfOwn();
    await typeCommand(["enqueue", "a"], { cwd });
    await typeCommand(["pause", "default"], { cwd });
    const { lines } = await examine(cwd);
    expect(lines).toContainEqual({ kind: "check", name: "workers", grade: "good", message: "0 workers" });
  });

  test("finds a schema bad that a newer version made", async () => {
    const cwd = folderOfOwn();
    await typeCommand(["migrate"], { cwd });
    const db = new DatabaseSync(join(cwd, "millrace.db"));
    db.exec("update millrace_meta set value = 99 where name = 'schema'");
    db.close();
    const { code, lines } = await examine(cwd);
    expect(code).toBe(9);
    expect(gradesOf(lines, "schema")).toEqual(["bad"]);
    expect(await typeCommand(["migrate", "--dry-run"], { cwd })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`has schema 99, but this version of Millrace knows only up to ${SCHEMA_VERSION}`) as string,
    });
  });

  test("finds a file bad that is none of SQLite", async () => {
    const cwd = folderOfOwn();
    const { code, lines } = await examine(cwd, { MILLRACE_URL: `sqlite:${import.meta.filename}` });
    expect(code).toBe(9);
    expect(lines[1]).toMatchObject({ name: "store", grade: "bad", message: expect.stringContaining("file is not a database") as string });
  });

  test("prints each setting with its source, and no secret", async () => {
    const { lines } = await examine(folderOfOwn(), { API_KEY: "s3cret", NUM_WORKERS: "4", MILLRACE_URL: "memory:" });
    expect(lines).toContainEqual({ kind: "setting", name: "API_KEY", value: "***", from: "environment", source: "API_KEY" });
    expect(lines).toContainEqual({ kind: "setting", name: "WORKER_CONCURRENCY", value: "4", from: "environment", source: "NUM_WORKERS" });
    expect(lines).toContainEqual({ kind: "setting", name: "PORT", value: "8080", from: "default", source: "default" });
    expect(JSON.stringify(lines)).not.toContain("s3cret");
  });

  test("tells of every wrong setting, and goes on", async () => {
    const { code, lines } = await examine(folderOfOwn(), { PORT: "a", LEASE: "b", MILLRACE_URL: "memory:" });
    expect(code).toBe(9);
    expect(gradesOf(lines, "setting")).toEqual(["bad", "bad"]);
    expect(gradesOf(lines, "store")).toEqual(["good", "good"]);
  });

  test("tells of a URL that is wrong, once", async () => {
    const { code, lines } = await examine(folderOfOwn(), { MILLRACE_URL: "nonsense" });
    expect(code).toBe(9);
    expect(lines.filter(({ grade }) => grade === "bad")).toHaveLength(1);
  });

  test("asks a server for its health and its clock", async () => {
    const ahead = new Date(Date.now() + 3_600_000).toUTCString();
    const server = createServer((_request, response) => response.writeHead(503, { date: ahead }).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, lines } = await examine(folderOfOwn(), { MILLRACE_URL: url });
    expect(code).toBe(9);
    expect(lines).toContainEqual({ kind: "check", name: "server", grade: "bad", message: "not healthy: /health answered HTTP 503" });
    expect(gradesOf(lines, "clock")).toEqual(["doubtful"]);
  });

  test("for people is a table, and a line that says how it is", async () => {
    const { stdout, stderr } = await typeCommand(["doctor", "--url", "memory:"]);
    expect(stdout).toMatch(/^CHECK +GRADE +FOUND\nnode +good +Millrace \d\S* on Node \d/);
    expect(stdout).toMatch(/^MILLRACE_URL +memory: +--url$/m);
    expect(stderr).toBe("no problems found\n");
  });

  test.each([
    ["22.17.1", "bad"],
    ["20.19.0", "bad"],
    ["22.18.0", "good"],
    ["24.0.0", "good"],
  ])("Node %s is %s", (version, grade) => {
    expect(examineNode(version).grade).toBe(grade);
  });
});

describe("migrate", () => {
  test("tells what it would do, and does nothing", async () => {
    const cwd = folderOfOwn();
    const { code, stdout } = await typeCommand(["migrate", "--dry-run"], { cwd });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^SQLite [\d.]+: there is no schema yet, migrate would create schema \d+\n$/) as string,
    });
    expect(existsSync(join(cwd, "millrace.db"))).toBe(false);
  });

  test("does it, once", async () => {
    const cwd = folderOfOwn();
    expect(JSON.parse((await typeCommand(["migrate", "--json"], { cwd })).stdout)).toMatchObject({
      schema: 0,
      newest: SCHEMA_VERSION,
      migrated: true,
    });
    expect(JSON.parse((await typeCommand(["migrate", "--json"], { cwd })).stdout)).toMatchObject({
      schema: SCHEMA_VERSION,
      newest: SCHEMA_VERSION,
      migrated: false,
    });
    expect((await typeCommand(["migrate"], { cwd })).stdout).toMatch(/schema \d+ is up to date, nothing to do$/m);
  });

  test("has nothing to do in memory, and no business with a server", async () => {
    expect((await typeCommand(["migrate", "--url", "memory:"])).stdout).toBe("memory: there is no schema to migrate\n");
    expect(await typeCommand(["migrate", "--url", "http://localhost:1"])).toMatchObject({
      code: 2,
      stderr: "millrace: a server migrates its own store: pass the URL of a store with --url\n",
    });
  });
});
