import { describe, expect, test } from "vitest";
import { meantBy, suggest } from "../../../src/core/did-you-mean.ts";
import { JOB_DEFAULTS, type JobOptions, readJobOptions } from "../../../src/core/job-options.ts";
import { readFields } from "../../../src/core/read-fields.ts";

const FIELDS = ["queue", "priority", "delay", "runAt", "maxRetries", "retryDelay", "timeout", "idempotencyKey", "tags", "meta"];

describe("what was meant by", () => {
  test.each([
    ["a word of another queue", "attempts", "maxRetries"],
    ["a word of another queue, in its own spelling", "job_key", "idempotencyKey"],
    ["a letter too many", "priorrity", "priority"],
    ["a letter too few", "timout", "timeout"],
    ["two letters in the wrong order", "proirity", "priority"],
    ["another way to write it", "max_retries", "maxRetries"],
    ["another case", "RUNAT", "runAt"],
  ])("%s", (_, given, meant) => {
    expect(meantBy(given, FIELDS)).toBe(meant);
  });

  test.each(["colour", "x", "", "constructor", "__proto__", "q".repeat(100_000)])("nothing near: %j", (given) => {
    expect(meantBy(given, FIELDS)).toBeNull();
  });
});

test("known names keep the form that they are written in", () => {
  expect(meantBy("attempts", ["max-retries", "queue"])).toBe("max-retries");
  expect(meantBy("maxRetrys", ["max_retries", "queue"])).toBe("max_retries");
});

test("a refusal names what was meant, and what is known", () => {
  expect(suggest("attempts", ["maxRetries", "queue"], "known fields")).toBe("did you mean maxRetries? (known fields: maxRetries, queue)");
  expect(suggest("colour", ["maxRetries", "queue"], "known fields")).toBe("known fields: maxRetries, queue");
  expect(() => readJobOptions({ attempts: 3 } as JobOptions, JOB_DEFAULTS, 0)).toThrow(
    "attempts is not a job option; did you mean maxRetries? (known options: queue, priority, ",
  );
  expect(() => readFields({ attempts: 3 }, "the options of enqueue", ["maxRetries"])).toThrow(
    "attempts is not a field of the options of enqueue; did you mean maxRetries? (known fields: maxRetries)",
  );
});
