import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import { levelOf, recordOf, toJob } from "../../../src/core/job.ts";
import { JOB_DEFAULTS, type JobOptions, createJob, readJobOptions, readQueue } from "../../../src/core/job-options.ts";
import { readType } from "../../../src/core/read-fields.ts";
import { readTime } from "../../../src/core/read-fields.ts";

const NOW = Date.UTC(2030, 0, 1);

const read = (options: unknown, defaults = JOB_DEFAULTS): typeof JOB_DEFAULTS => readJobOptions(options as JobOptions, defaults, NOW);

function refused(options: unknown): MillraceError {
  try {
    read(options);
  } catch (error) {
    if (error instanceof MillraceError) return error;
  }
  throw new Error("it was accepted");
}

describe("options", () => {
  test("that are not given have the published defaults", () => {
    expect(read({})).toEqual({
      queue: "default",
      priority: 0,
      delay: 0,
      runAt: null,
      maxRetries: 3,
      // By maxRetries: createJob decides.
      maxLost: null,
      retryDelay: 1000,
      backoff: "exponential",
      timeout: 30_000,
      idempotencyKey: null,
      keyTtl: 86_400_000,
      tags: [],
      meta: null,
      limitKey: null,
      cost: 1,
      startWithin: null,
      webhookUrl: null,
    });
  });

  test("are stored in one form, however they were written", () => {
    const settings = read({
      priority: "critical",
      delay: "5m",
      retryDelay: "500ms",
      timeout: 0,
      tags: ["a", "b", "a"],
      meta: { trace: "x" },
      webhookUrl: "HTTPS://Example.com/a b",
    });
    expect(settings).toMatchObject({
      priority: 20,
      delay: 300_000,
      retryDelay: 500,
      timeout: 0,
      tags: ["a", "b"],
      meta: '{"trace":"x"}',
      webhookUrl: "https://example.com/a%20b",
    });
  });

  test("that are undefined leave the default as it is", () => {
    expect(read({ queue: undefined }, { ...JOB_DEFAULTS, queue: "mail" }).queue).toBe("mail");
  });

  test("name a time in one way: that of the call stands instead of a default in the other", () => {
    expect(read({ delay: "1s" }, { ...JOB_DEFAULTS, runAt: NOW + 5 })).toMatchObject({ delay: 1000, runAt: null });
    expect(read({ runAt: NOW + 5 }, { ...JOB_DEFAULTS, delay: 1000 })).toMatchObject({ delay: 0, runAt: NOW + 5 });
    expect(refused({ delay: "1s", runAt: NOW }).field).toBe("runAt");
  });

  test("that nobody knows are refused by name", () => {
    expect(refused({ prioritiy: 5 })).toMatchObject({ code: "invalid_input", field: "prioritiy" });
    expect(refused({ constructor: 5 }).field).toBe("constructor");
    expect(refused(JSON.parse('{"__proto__": 5}')).field).toBe("__proto__");
  });

  test.each([
    ["priority", [101, -101, 1.5, "urgent", "toString", Number.NaN, Number.MAX_SAFE_INTEGER, null, "5"]],
    ["delay", [-1, 1.5, Number.NaN, Infinity, "1e999", "5", "-5s", "", "5 m", {}, 10 * 366 * 86_400_000, "4000d"]],
    [
      "runAt",
      [
        "2030-01-01",
        "2030-01-01T00:00:00",
        "tomorrow",
        "2030-02-31T00:00:00Z",
        1_900_000_000,
        Number.NaN,
        new Date(Number.NaN),
        Date.UTC(2041, 0, 1),
        8.64e15,
        "+275761-01-01T00:00:00Z",
      ],
    ],
    ["maxRetries", [-1, 101, 1e9, 2.5, "3"]],
    ["maxLost", [-1, 101, 1e9, 2.5, "3"]],
    ["retryDelay", [-1, "1y", Number.NaN, "1h", 300_001]],
    ["timeout", [-1, "25d", Infinity]],
    ["idempotencyKey", ["", "k".repeat(256), "ü".repeat(128), "\ud800", 5, null]],
    ["keyTtl", [-1, "x"]],
    ["tags", ["a", [""], ["x".repeat(65)], Array.from({ length: 21 }, (_, n) => `t${n}`), [5], ["\udc00"]]],
    ["meta", [[], "x", null, { big: "x".repeat(17_000) }, 5]],
    ["webhookUrl", ["ftp://x", "javascript:alert(1)", "not a url", `http://x/${"y".repeat(2048)}`, 5]],
    ["queue", ["", "a b", "x".repeat(129), "../up", "{x}", "a\n", "é", 5]],
  ])("%s outside its rule is refused, and named", (field, values: readonly unknown[]) => {
    for (const value of values) {
      const error = refused({ [field]: value });
      expect(error).toMatchObject({ code: "invalid_input" });
      expect(error.field).toMatch(new RegExp(`^${field}`));
      expect(error.message).toContain(field);
    }
  });

  test.each([
    ["priority", [-100, 100, 0, -0, "low"]],
    ["delay", [0, 1, "0s", "3650d"]],
    ["runAt", ["2030-01-01T00:00:00Z", "2030-01-01T00:00+02:00", new Date(NOW), 0 + NOW, "2028-02-29T12:00:00Z"]],
    ["maxRetries", [0, 100]],
    ["maxLost", [0, 100]],
    ["timeout", [0, "24d"]],
    ["idempotencyKey", ["k".repeat(255), "ü".repeat(127), " ", "\u0000"]],
    ["tags", [[], Array.from({ length: 20 }, (_, n) => `t${n}`), ["x".repeat(64)]]],
    ["queue", ["a", "x".repeat(128), "A.b_c:d-9"]],
  ])("%s at the edge of its rule is accepted", (field, values: readonly unknown[]) => {
    for (const value of values) expect(() => read({ [field]: value })).not.toThrow();
  });

  test("keep -0 out: it is 0", () => {
    expect(Object.is(read({ priority: -0 }).priority, 0)).toBe(true);
  });
});

describe("names of types and queues", () => {
  test("follow one grammar, whatever is tried", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 140 }), (name) => {
        const sound = /^[A-Za-z0-9._:-]{1,128}$/.test(name) && !name.endsWith("\n");
        if (sound) expect(readType(name)).toBe(name);
        else expect(() => readQueue(name)).toThrow(MillraceError);
      }),
    );
  });
});

describe("a time", () => {
  test("is read from a Date, from ISO text with a zone and from milliseconds alike", () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(Date.UTC(2000, 0, 1)), max: new Date(Date.UTC(9999, 0, 1)), noInvalidDate: true }), (date) => {
        for (const form of [date, date.toISOString(), date.getTime()]) expect(readTime(form)).toBe(date.getTime());
      }),
    );
  });
});

describe("a job", () => {
  test("has a fingerprint exactly when it has a key", () => {
    expect(createJob("1", "t", {}, read({})).fingerprint).toBeNull();
    expect(createJob("1", "t", {}, read({ idempotencyKey: "k" })).fingerprint).toMatch(/^[\w-]{43}$/);
  });

  test("that was just inserted shows what it was given, and null for what is not set", () => {
    const job = createJob("1", "t", { a: 1 }, read({ meta: { m: 1 }, tags: ["x"] }));
    const seen = toJob(recordOf(job, "pending", NOW, NOW));
    expect(seen).toMatchObject({
      id: "1",
      payload: { a: 1 },
      meta: { m: 1 },
      tags: ["x"],
      scheduledAt: null,
      workerId: null,
      result: null,
    });
    expect(Object.values(seen)).not.toContain(undefined);
    expect(toJob(recordOf(job, "scheduled", NOW, NOW + 5)).scheduledAt).toBe(NOW + 5);
  });

  test("shows who runs it only while somebody does", () => {
    const record = { ...recordOf(createJob("1", "t", null, read({})), "running", NOW, NOW), workerId: "w" };
    expect(toJob(record).workerId).toBe("w");
    expect(toJob({ ...record, status: "completed" }).workerId).toBeNull();
  });

  test.each([
    [100, "critical"],
    [20, "critical"],
    [19, "high"],
    [10, "high"],
    [9, "default"],
    [0, "default"],
    [-1, "low"],
    [-100, "low"],
  ])("of priority %d counts as %s", (priority, level) => {
    expect(levelOf(priority)).toBe(level);
  });
});
