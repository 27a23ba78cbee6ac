import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import type { Client, EnqueuedJob, JobDefinition } from "../../../src/client/client.ts";
import { defineJob } from "../../../src/client/define-job.ts";
import type { StandardSchemaV1 } from "../../../src/core/standard-schema.ts";
import { openClient } from "./open-client.ts";

const order = z.object({ items: z.array(z.object({ price: z.number() })), note: z.string().default("none") });

describe("a definition", () => {
  test("checks a payload when it is enqueued, and names the place that is wrong", async () => {
    const { client } = await openClient();
    const job = defineJob({ type: "order", input: order });
    await expect(client.enqueue(job, { items: [{ price: 1 }, { price: "2" }] } as never)).rejects.toMatchObject({
      code: "invalid_input",
      field: "payload.items[1].price",
      message: expect.stringMatching(/^payload\.items\[1\]\.price: .*number/) as string,
    });
    await expect(client.enqueue(job, "no object" as never)).rejects.toMatchObject({ field: "payload" });
    expect((await client.list()).jobs).toEqual([]);
  });

  test("checks what will be stored: a Date that JSON turns into a text is refused here, and not when the job runs", async () => {
    const { client } = await openClient();
    const strict = defineJob({ type: "remind", input: z.object({ when: z.date() }) });
    await expect(client.enqueue(strict, { when: new Date(0) })).rejects.toMatchObject({ code: "invalid_input", field: "payload.when" });
    const lenient = defineJob({ type: "remind", input: z.object({ when: z.coerce.date() }) });
    expect((await client.enqueue(lenient, { when: new Date(0) })).payload).toEqual({ when: "1970-01-01T00:00:00.000Z" });
  });

  test("stores the payload as it was given, not as the schema made it", async () => {
    const { client } = await openClient();
    const job = defineJob({
      type: "order",
      input: order.extend({
        at: z
          .string()
          .transform((text) => new Date(text))
          .optional(),
      }),
    });
    expect((await client.enqueue(job, { items: [] })).payload).toEqual({ items: [] });
  });

  test("takes any Standard Schema, asynchronous ones too", async () => {
    const { client } = await openClient();
    const mail = defineJob({ type: "mail", input: v.object({ to: v.pipe(v.string(), v.email()) }) });
    await expect(client.enqueue(mail, { to: "nobody" })).rejects.toMatchObject({ code: "invalid_input", field: "payload.to" });
    const slow = defineJob({ type: "slow", input: z.string().refine(async (text) => text === "ok") });
    expect((await client.enqueue(slow, "ok")).payload).toBe("ok");
    await expect(client.enqueue(slow, "no")).rejects.toMatchObject({ code: "invalid_input", field: "payload" });
  });

  test("whose schema throws refuses the payload instead of crashing", async () => {
    const { client } = await openClient();
    const broken: StandardSchemaV1 = { "~standard": { version: 1, vendor: "test", validate: () => { throw new Error("oops"); } } }; // oxfmt-ignore
    const rejecting: StandardSchemaV1 = { "~standard": { version: 1, vendor: "test", validate: () => Promise.reject(new Error("oops")) } };
    for (const input of [broken, rejecting]) {
      await expect(client.enqueue(defineJob({ type: "x", input }), 1)).rejects.toMatchObject({ code: "invalid_input", field: "payload" });
    }
  });

  test.each([
    ["type", { type: "not a name" }],
    ["priority", { type: "x", priority: "urgent" }],
    ["nonsense", { type: "x", nonsense: 1 }],
    ["input", { type: "x", input: { parse: () => 1 } }],
    ["output", { type: "x", output: "a text" }],
    ["backoff", { type: "x", backoff: 5 }],
  ])("with a bad %s is refused where it is written", (field, definition: unknown) => {
    expect(() => defineJob(definition as { type: string })).toThrow(expect.objectContaining({ code: "invalid_input", field }) as Error);
  });

  test("joins with its handler, and keeps what it was told", () => {
    const backoff = (): number => 5;
    const job = defineJob({ type: "x", maxRetries: 2, backoff });
    const handler = async (): Promise<void> => {};
    expect(job.handle(handler)).toEqual({ definition: job, handler });
    expect(job).toMatchObject({ type: "x", options: { maxRetries: 2 }, backoff, input: undefined });
  });

  test("gives callers the schema's input and handlers its output", () => {
    const job = defineJob({
      type: "order",
      input: z.object({ at: z.string().transform((text) => new Date(text)), note: z.string().default("") }),
    });
    type Input = { at: string; note?: string | undefined };
    expectTypeOf(job).toEqualTypeOf<JobDefinition<Input, { at: Date; note: string }, unknown, "order">>();
    job.handle((payload) => expectTypeOf(payload).toEqualTypeOf<{ at: Date; note: string }>());
    const enqueue = (client: Client): Promise<EnqueuedJob<Input>> => client.enqueue(job, { at: "now" });
    // @ts-expect-error -- the handler's Date is not what a caller gives
    const wrong = (client: Client): unknown => client.enqueue(job, { at: new Date() });
    // @ts-expect-error -- a property is missing
    const missing = (client: Client): unknown => client.enqueue(job, {});
    const untyped = defineJob<{ to: string }>({ type: "mail" });
    expectTypeOf(untyped).toEqualTypeOf<JobDefinition<{ to: string }>>();
    expect([enqueue, wrong, missing]).toHaveLength(3);
  });
});
