import { describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import type { Client } from "../../../src/client/client.ts";
import { connect } from "../../../src/connect.ts";
import { defineJob } from "../../../src/client/define-job.ts";
import { createServer } from "../../../src/http/server.ts";
import { Metrics } from "../../../src/observe/metrics.ts";
import { createTestClient } from "../../../src/testing/index.ts";

const mail = defineJob({ type: "mail", input: z.object({ to: z.string() }), queue: "post" });

/** As a caller without types sees it. */
function untyped(client: Client): Client {
  return client;
}

describe("jobs of a client", () => {
  test.each([
    [{ mail }, "jobs"],
    [["mail"], "jobs[0]"],
    [[mail, { type: "other" }], "jobs[1]"],
    [[mail, mail], "jobs[1]"],
  ])("refuses %o and names the place", async (jobs, field) => {
    const options = { jobs: jobs as never };
    await expect(connect("memory:", options)).rejects.toMatchObject({ code: "invalid_input", field });
    await expect(createTestClient(options)).rejects.toMatchObject({ code: "invalid_input", field });
  });

  test("are known by name where the client was opened with them, and in strict mode too", async () => {
    await using client = await connect("memory:", { jobs: [mail], strictTypes: true });
    expect(await client.enqueue("mail", { to: "ann" })).toMatchObject({ queue: "post" });
    await expect(client.enqueue("mail", { to: 5 as never })).rejects.toMatchObject({ field: "payload.to" });
    await expect(untyped(client).enqueue("other")).rejects.toMatchObject({ code: "unknown_type" });
  });

  test("are known by name in a test client", async () => {
    await using client = await createTestClient({ jobs: [mail] });
    const { id } = await client.enqueue("mail", { to: "ann" });
    client.assertEnqueued({ type: mail, queue: "post" });
    await client.drain([mail.handle(({ to }) => `to ${to}`)]);
    expect((await client.wait(mail, id)).result).toBe("to ann");
    await expect(untyped(client).enqueue("mial")).rejects.toMatchObject({ code: "unknown_type" });
  });

  test("are known by name where handlers are, beside handlers of other types and of any type", async () => {
    const sized = defineJob({ type: "sized", input: z.object({ n: z.number().transform((n) => n + 0.5) }), output: z.string() });
    await using client = await createTestClient({ jobs: [sized] });
    const { id } = await client.enqueue("sized", { n: 1 });
    const worker = untyped(client).work({ sized: ({ n }: { n: number }) => `${n}`, other: () => null, "*": () => null });
    await client.drain();
    expect(await client.get(id)).toMatchObject({ status: "completed", result: "1.5" });
    expect((await client.types()).map(({ type, schema }) => [type, schema?.["type"] ?? null])).toEqual([["*", null]]);
    await worker.stop();
    const wrong = await client.enqueue("sized", { n: 2 }, { maxRetries: 0 });
    await client.drain({ sized: (): never => 5 as never });
    expect(await client.get(wrong.id)).toMatchObject({ status: "dead" });
  });

  test("refuses a schedule with both a name and a definition", async () => {
    await using client = await connect("memory:", { jobs: [mail] });
    const both = { name: "n", every: "1d", type: "mail", job: defineJob({ type: "other" }), payload: { to: "ann" } };
    await expect(untyped(client).schedules.upsert(both as never)).rejects.toMatchObject({ field: "job" });
  });

  test("refuses all jobs of a transaction if one has an unknown name", async () => {
    await using client = await connect("memory:", { jobs: [mail] });
    const jobs = [mail.job({ to: "ann" }), { type: "mial" }] as const;
    await expect(untyped(client).enqueueMany(jobs, { tx: {} })).rejects.toMatchObject({ code: "unknown_type" });
    expect((await client.list()).jobs).toEqual([]);
  });

  test.each([
    ["connect", () => connect("memory:", { jobs: [mail] })],
    ["createTestClient", () => createTestClient({ jobs: [mail] })],
  ])("leave metrics as they are: those of %s stop with the client", async (_, open) => {
    const stop = vi.spyOn(Metrics.prototype, "stop");
    onTestFinished(() => stop.mockRestore());
    const client = await open();
    await client.metrics();
    await client.close();
    expect(stop).toHaveBeenCalledTimes(1);
  });

  test("do not limit what others enqueue through a server that is mounted on the client", async () => {
    await using client = await connect("memory:", { jobs: [mail] });
    const server = createServer(client, { open: true });
    const body = JSON.stringify({ type: "of:another-service" });
    const headers = { "content-type": "application/json" };
    const answer = await server.fetch(new Request("http://localhost/api/v1/jobs", { method: "POST", body, headers }));
    expect(answer.status).toBe(201);
    await server.drain();
  });
});
