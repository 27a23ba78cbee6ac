import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inspectStore } from "../../../../src/store/open-store.ts";
import { admin, type RedisServer, startRedis } from "../../../servers/redis.ts";

let server: RedisServer;
beforeAll(async () => void (server = await startRedis()));
afterAll(() => server.stop());

const run = (command: string, ...args: string[]): Promise<unknown> => admin(server.ports[0]!, (redis) => redis.call(command, ...args));

describe("a look at a server", () => {
  test("tells its version, its time and what it does when its memory is full", async () => {
    const before = Date.now();
    const report = await inspectStore(server.url);
    expect(report).toEqual({
      engine: expect.stringMatching(/^(Redis|Valkey) \d/) as string,
      schema: { found: 2, wanted: 2 },
      now: expect.any(Number) as number,
      findings: [
        { grade: "good", message: expect.stringMatching(/^version \d.* is 6\.2 or newer$/) as string },
        { grade: "good", message: expect.stringContaining("noeviction") as string },
        { grade: "doubtful", message: expect.stringContaining("append-only") as string },
      ],
    });
    expect(Math.abs(report.now! - before)).toBeLessThan(60_000);
  });

  test("finds it bad that keys are evicted, and good that a log is kept", async () => {
    await run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await run("CONFIG", "SET", "appendonly", "yes");
    const { findings } = await inspectStore(server.url);
    await run("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await run("CONFIG", "SET", "appendonly", "no");
    expect(findings.map(({ grade }) => grade)).toEqual(["good", "bad", "good"]);
  });

  test("goes on with a user who may not ask for all of it", async () => {
    await run("ACL", "SETUSER", "eve", "on", ">pw", "~*", "&*", "+@all", "-info");
    const report = await inspectStore(server.url.replace("//", "//eve:pw@"));
    expect(report).toMatchObject({ engine: "Redis of unknown version", findings: [{ grade: "doubtful" }] });
  });

  test("fails when nobody is there", async () => {
    await expect(inspectStore("redis://127.0.0.1:1", { deadlineMs: 200 })).rejects.toMatchObject({ code: "store_unavailable" });
  });
});
