import { describe, expect } from "vitest";
import type { Promises } from "./client.ts";

/** Bad input is refused with the same code and the same field everywhere, and leaves nothing behind. */
export function inputSuite(promises: Promises): void {
  describe("bad input", () => {
    promises("a transaction that is null is refused, and undefined is none", async (client) => {
      const refusal = {
        code: "invalid_transaction",
        field: "tx",
        message: expect.stringContaining("is the variable with your open transaction set?") as string,
      };
      await expect(client.enqueue("t", null, { tx: null })).rejects.toMatchObject(refusal);
      await expect(client.enqueueMany([{ type: "t" }], { tx: null })).rejects.toMatchObject(refusal);
      client.use({ enqueue: (jobs, next) => next(jobs) });
      await expect(client.enqueue("t", null, { tx: null })).rejects.toMatchObject(refusal);
      await expect(client.enqueueMany([{ type: "t" }], { tx: null })).rejects.toMatchObject(refusal);
      expect((await client.list()).jobs).toEqual([]);
      expect(await client.enqueue("t", null, { tx: undefined })).toMatchObject({ created: true });
      expect(await client.enqueueMany([{ type: "t" }], { tx: undefined })).toMatchObject([{ ok: true }]);
    });

    promises("of enqueue is refused by its name", async (client) => {
      const cyclic: Record<string, unknown> = {};
      cyclic["self"] = cyclic;
      const cases: [unknown, unknown, unknown, string][] = [
        ["", null, {}, "type"],
        ["../x", null, {}, "type"],
        ["a".repeat(129), null, {}, "type"],
        [5, null, {}, "type"],
        ["t", NaN, {}, "payload"],
        ["t", { a: [1, undefined, () => {}] }, {}, "payload.a[1]"],
        ["t", 5n, {}, "payload"],
        ["t", new Map(), {}, "payload"],
        ["t", cyclic, {}, "payload"],
        ["t", "x".repeat(1024 * 1024), {}, "payload"],
        ["t", null, { priority: 101 }, "priority"],
        ["t", null, { priority: 1.5 }, "priority"],
        ["t", null, { priority: "urgent" }, "priority"],
        ["t", null, { priority: NaN }, "priority"],
        ["t", null, { queue: "no queue" }, "queue"],
        ["t", null, { queue: null }, "queue"],
        ["t", null, { delay: -1 }, "delay"],
        ["t", null, { delay: "soon" }, "delay"],
        ["t", null, { delay: "100000d" }, "delay"],
        ["t", null, { runAt: "2030-01-01" }, "runAt"],
        ["t", null, { runAt: new Date(NaN) }, "runAt"],
        ["t", null, { runAt: 1_700_000_000 }, "runAt"],
        ["t", null, { runAt: null }, "runAt"],
        ["t", null, { delay: 5, runAt: Date.now() }, "runAt"],
        ["t", null, { maxRetries: 101 }, "maxRetries"],
        ["t", null, { maxRetries: -1 }, "maxRetries"],
        ["t", null, { maxLost: 101 }, "maxLost"],
        ["t", null, { maxLost: null }, "maxLost"],
        ["t", null, { retryDelay: "6m" }, "retryDelay"],
        ["t", null, { timeout: "25d" }, "timeout"],
        ["t", null, { idempotencyKey: "" }, "idempotencyKey"],
        ["t", null, { idempotencyKey: "ü".repeat(128) }, "idempotencyKey"],
        ["t", null, { idempotencyKey: "\ud800" }, "idempotencyKey"],
        ["t", null, { keyTtl: -5 }, "keyTtl"],
        ["t", null, { tags: [""] }, "tags"],
        ["t", null, { tags: Array.from({ length: 21 }, (_, index) => `t${index}`) }, "tags"],
        ["t", null, { tags: "tag" }, "tags"],
        ["t", null, { meta: [] }, "meta"],
        ["t", null, { meta: { big: "x".repeat(20_000) } }, "meta"],
        ["t", null, { webhookUrl: "ftp://example.com" }, "webhookUrl"],
        ["t", null, { webhookUrl: () => {} }, "webhookUrl"],
        ["t", null, { webhookUrl: "http://127.0.0.1:8080/hook" }, "webhookUrl"],
        ["t", null, { webhookUrl: "http://10.1.2.3/hook" }, "webhookUrl"],
        ["t", null, { webhookUrl: "http://localhost/hook" }, "webhookUrl"],
        ["t", null, { webhookUrl: "http://[::1]/hook" }, "webhookUrl"],
        ["t", null, { webhookUrl: "https://name:secret@example.com/hook" }, "webhookUrl"],
        ["http:request", { url: "http://169.254.169.254/latest/meta-data/" }, {}, "payload.url"],
        ["t", null, { colour: "red" }, "colour"],
        ["t", null, "options", "options"],
      ];
      for (const [type, payload, options, field] of cases) {
        await expect(client.enqueue(type as string, payload, options as never)).rejects.toMatchObject({
          code: "invalid_input",
          field,
        });
      }
      expect((await client.list()).jobs).toEqual([]);
    });

    promises("that throws by itself is refused all the same", async (client) => {
      const hostile = {
        get priority(): number {
          throw new Error("gotcha");
        },
      };
      await expect(client.enqueue("t", null, hostile)).rejects.toMatchObject({ code: "invalid_input" });
      await expect(client.enqueue("t", { toJSON: () => { throw new Error("gotcha"); } })).rejects.toMatchObject({ code: "invalid_input", field: "payload" }); // oxfmt-ignore
    });

    promises("of other calls is refused by its name", async (client) => {
      const cases: [() => Promise<unknown>, string][] = [
        [() => client.get("nonsense"), "id"],
        [() => client.get("../../health"), "id"],
        [() => client.cancel(5 as never), "id"],
        [() => client.retry("x"), "id"],
        [() => client.remove("x"), "id"],
        [() => client.attempts("x"), "id"],
        [() => client.logs("x"), "id"],
        [() => client.wait("x"), "id"],
        [() => client.wait("0190d2f0-7b1a-7abc-8def-0123456789ab", { timeout: "soon" as never }), "timeout"],
        [() => client.list({ limit: 0 }), "limit"],
        [() => client.list({ limit: 1001 }), "limit"],
        [() => client.list({ limit: "5" as never }), "limit"],
        [() => client.list({ status: "asleep" }), "status"],
        [() => client.list({ status: [] }), "status"],
        [() => client.list({ type: "no type" }), "type"],
        [() => client.list({ type: 5 as never }), "type"],
        [() => client.list({ from: "yesterday" }), "from"],
        [() => client.list({ priority: 1000 }), "priority"],
        [() => client.list({ tag: "" }), "tag"],
        [() => client.list({ colour: "red" } as never), "colour"],
        [() => client.dead.list({ limit: -1 }), "limit"],
        [() => client.dead.retry({ queue: "no queue" }), "queue"],
        [() => client.dead.purge({ type: "no type" }), "type"],
        [() => client.pause("no queue"), "queue"],
        [() => client.resume(""), "queue"],
        [() => client.configure("q", { capacity: 0 }), "capacity"],
        [() => client.configure("q", { headStart: "400d" }), "headStart"],
        [() => client.configure("q", { retention: { keepAtLeast: "x" as never } }), "retention.keepAtLeast"],
        [() => client.configure("q", { colour: 1 } as never), "colour"],
        [() => client.configure("q", { retention: { colour: 1 } as never }), "retention.colour"],
        [() => client.configure("q", { defaults: { colour: 1 } as never }), "defaults.colour"],
        [() => client.configure("q", { defaults: { retryDelay: "6m" } }), "defaults.retryDelay"],
        [() => client.schedules.preview({ every: "1h" }, 101), "count"],
      ];
      for (const [call, field] of cases) await expect(call()).rejects.toMatchObject({ code: "invalid_input", field });
    });
  });
}
