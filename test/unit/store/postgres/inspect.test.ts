import { describe, expect, test } from "vitest";
import { inspectStore } from "../../../../src/store/open-store.ts";
import { SCHEMA_VERSION } from "../../../../src/store/postgres/migrations.ts";
import { freshUrl, openStoreOn, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

describe("a look at a server", () => {
  test("tells its version, its time and how it writes, and makes nothing there", async () => {
    const url = freshUrl(server());
    for (const _look of ["first", "second"]) {
      const before = Date.now();
      const report = await inspectStore(url);
      expect(report).toMatchObject({
        engine: expect.stringMatching(/^PostgreSQL \d/) as string,
        schema: { found: 0, wanted: SCHEMA_VERSION },
        findings: [
          { grade: "good", message: expect.stringMatching(/^version \d+ is 14 or newer$/) as string },
          { grade: "good", message: "the database encoding is UTF8" },
          { message: expect.stringMatching(/disk|fsync/) as string },
        ],
      });
      expect(Math.abs(report.now! - before)).toBeLessThan(60_000);
    }
  });

  test("tells the schema that is there", async () => {
    const url = freshUrl(server());
    await openStoreOn(url);
    expect((await inspectStore(url)).schema).toEqual({ found: SCHEMA_VERSION, wanted: SCHEMA_VERSION });
  });

  test("fails when nobody is there, without a password in the message", async () => {
    const failure = inspectStore("postgres://ann:s3cret@127.0.0.1:1/db", { deadlineMs: 1000 });
    await expect(failure).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("127.0.0.1:1/db") as string,
    });
    await expect(failure).rejects.toMatchObject({ message: expect.not.stringContaining("s3cret") as string });
  });
});
