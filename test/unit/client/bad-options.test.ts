/** Options that are wrong are refused with the name of their field, before anything was done. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { connect } from "../../../src/connect.ts";
import { openClient } from "./open-client.ts";

const refusal = (field: string): Error => expect.objectContaining({ name: "MillraceError", code: "invalid_input", field }) as Error;

describe("connect", () => {
  test.each<[unknown, string]>([
    [null, "the options of connect"],
    [5, "the options of connect"],
    [{ clock: {} }, "clock"],
    [{ clock: null }, "clock"],
    [{ onTrouble: 5 }, "onTrouble"],
    [{ strictTypes: "no" }, "strictTypes"],
    [{ defaults: 5 }, "defaults"],
    [{ defaults: [] }, "defaults"],
    [{ defaults: { priority: 9999 } }, "priority"],
    [{ deadline: "soon" }, "deadline"],
  ])("refuses the options %j and opens no store", async (options, field) => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-options-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "jobs.db");
    await expect(connect(`sqlite:${file}`, options as never)).rejects.toThrow(refusal(field));
    expect(existsSync(file)).toBe(false);
  });
});

describe("a definition", () => {
  test.each([null, undefined, 5, "type", []])("of %j is refused", (definition) => {
    expect(() => defineJob(definition as never)).toThrow(refusal("definition"));
  });

  test.each([{ type: "a" }, { type: "a", options: null }, () => "a"])(
    "that defineJob did not make (%j) is refused in words",
    async (kind) => {
      const { client } = await openClient();
      await expect(client.enqueue(kind as never, 1)).rejects.toThrow(refusal("type"));
      await expect(client.enqueue(kind as never, 1)).rejects.toThrow(/defineJob/);
      expect((await client.enqueueMany([{ type: kind as never }]))[0]).toMatchObject({ ok: false, error: { field: "type" } });
    },
  );
});

describe("work", () => {
  test.each<[unknown, string]>([
    [null, "the options of a worker"],
    [5, "the options of a worker"],
    [[], "the options of a worker"],
    [{ concurrency: { min: 1, max: 2, step: 3 } }, "concurrency.step"],
    [{ concurrency: [1, 2] }, "concurrency"],
    [{ concurency: 1 }, "concurency"],
  ])("refuses the options %j", async (options, field) => {
    const { client } = await openClient();
    expect(() => client.work({ t: async () => {} }, options as never)).toThrow(refusal(field));
  });
});

describe("the end", () => {
  test.each<[unknown, string]>([
    [{ grace: "banana" }, "grace"],
    [{ grace: -1 }, "grace"],
    [{ grace: "2d" }, "grace"],
    [{ gracce: 1 }, "gracce"],
    [5, "the options of close"],
  ])("of a client with %j is refused, and the client stays open", async (options, field) => {
    const { client } = await openClient();
    await expect(client.close(options as never)).rejects.toThrow(refusal(field));
    expect((await client.enqueue("t")).created).toBe(true);
  });

  test.each<[unknown, string]>([
    [{ grace: "banana" }, "grace"],
    [{ gracce: 1 }, "gracce"],
    [5, "the options of stop"],
  ])("of a worker with %j is refused, and the worker goes on", async (options, field) => {
    const { client } = await openClient();
    const worker = client.work({ t: async () => {} });
    await expect(worker.stop(options as never)).rejects.toThrow(refusal(field));
    expect(worker.state).toBe("idle");
  });
});

test("a hole in a list of jobs is a bad job, with its answer in its place", async () => {
  const { client } = await openClient();
  const items: { type: string }[] = [];
  items[1] = { type: "t" };
  const results = await client.enqueueMany(items);
  expect([0 in results, results.map((result) => result.ok)]).toEqual([true, [false, true]]);
  expect(results[0]).toMatchObject({ error: { code: "invalid_input", field: "job" } });
});
