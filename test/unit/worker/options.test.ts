import { describe, expect, test } from "vitest";
import type { WorkOptions } from "../../../src/client/client.ts";
import { readWorkOptions } from "../../../src/worker/options.ts";

describe("options of a worker", () => {
  test("have defaults", () => {
    expect(readWorkOptions()).toEqual({
      minSlots: 10,
      maxSlots: 10,
      queues: new Map([["default", 1]]),
      leaseMs: 30_000,
      graceMs: 30_000,
      settleMs: 5000,
      aheadMs: 20,
      backoffs: new Map(),
    });
  });

  test("are read", () => {
    const slowly = (): number => 1000;
    expect(
      readWorkOptions({
        concurrency: { min: 2, max: 50 },
        queues: { mail: 3, default: 1 },
        lease: "5s",
        grace: 0,
        settle: 0,
        ahead: 0,
        backoffs: { slowly },
      }),
    ).toEqual({
      minSlots: 2,
      maxSlots: 50,
      queues: new Map([
        ["mail", 3],
        ["default", 1],
      ]),
      leaseMs: 5000,
      settleMs: 0,
      graceMs: 0,
      aheadMs: 0,
      backoffs: new Map([["slowly", slowly]]),
    });
  });

  test.each<[unknown, string]>([
    [{ concurrency: 0 }, "concurrency"],
    [{ concurrency: 10_001 }, "concurrency"],
    [{ concurrency: "10" }, "concurrency"],
    [{ concurrency: null }, "concurrency"],
    [{ concurrency: { min: 0, max: 5 } }, "concurrency.min"],
    [{ concurrency: { min: 5 } }, "concurrency.max"],
    [{ concurrency: { min: 5, max: 4 } }, "concurrency.max"],
    [{ queues: [] }, "queues"],
    [{ queues: "mail" }, "queues"],
    [{ queues: ["mail", "mail"] }, "queues"],
    [{ queues: ["no spaces"] }, "queues"],
    [{ queues: { mail: 0 } }, "queues.mail"],
    [{ queues: { mail: 1.5 } }, "queues.mail"],
    [{ lease: "500ms" }, "lease"],
    [{ lease: "2h" }, "lease"],
    [{ settle: "2m" }, "settle"],
    [{ settle: -1 }, "settle"],
    [{ grace: "soon" }, "grace"],
    [{ version: "" }, "version"],
    [{ version: "1.0\n" }, "version"],
    [{ version: "1".repeat(101) }, "version"],
    [{ concurency: 5 }, "concurency"],
  ])("%j is refused by name", (options, field) => {
    expect(() => readWorkOptions(options as WorkOptions)).toThrow(expect.objectContaining({ code: "invalid_input", field }));
  });
});
