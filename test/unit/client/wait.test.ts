import { describe, expect, test } from "vitest";
import { CANCEL } from "../../../src/core/lifecycle.ts";
import { claim, endOf, MISSING_ID, openClient, type Opened, spyOn } from "./open-client.ts";

async function completeNext({ client }: Opened, result = '"done"'): Promise<void> {
  const [lease] = (await claim(client)).jobs;
  const { job, fence, facts } = lease!;
  await client.leases.exchange([{ id: job.id, fence, facts, outcome: { kind: "completed", result, runMs: 1 } }], null);
}

describe("wait", () => {
  test("resolves at once for a job that has ended", async () => {
    const opened = await openClient();
    const { id } = await opened.client.enqueue("t");
    await completeNext(opened);
    expect(await opened.client.wait(id, { timeout: 0 })).toMatchObject({ id, status: "completed", result: "done" });
  });

  test("is woken when the job ends in this process, without a look by the clock", async () => {
    const opened = await openClient();
    const { id } = await opened.client.enqueue("t");
    const waiting = opened.client.wait(id);
    await opened.clock.settle();
    await completeNext(opened);
    expect((await waiting).status).toBe("completed");
  });

  test.each(["cancel", "remove"] as const)("is woken by a %s", async (verb) => {
    const { client, clock } = await openClient();
    const { id } = await client.enqueue("t");
    const waiting = client.wait(id).then(
      (job) => job.status,
      (error: { code: string }) => error.code,
    );
    await clock.settle();
    if (verb === "remove") {
      // Cancelled and removed before the waiter could look: to it the job vanished.
      await Promise.all([client.cancel(id), client.remove(id)]);
      expect(["not_found", "cancelled"]).toContain(await waiting);
    } else {
      await client.cancel(id);
      expect(await waiting).toBe("cancelled");
    }
  });

  test("finds out by looking when the end was not told, ever more slowly", async () => {
    const { client, store, clock } = await openClient();
    const { id } = await client.enqueue("t");
    const waiting = client.wait(id, { timeout: "1m" });
    const finds = spyOn(store, "find");
    await clock.advance("10s");
    // 10, 20, 40 … 320 ms, and then twice a second.
    expect(finds.length).toBeGreaterThan(20);
    expect(finds.length).toBeLessThan(30);
    await store.change([id], { from: ["pending"], transition: CANCEL.transition });
    await clock.advance("500ms");
    expect((await waiting).status).toBe("cancelled");
  });

  test("gives up after its timeout, and says how far the job is", async () => {
    const { client, clock } = await openClient();
    const { id } = await client.enqueue("t");
    const waiting = endOf(client.wait(id, { timeout: "2s" }));
    await clock.advance("2s");
    expect(await waiting).toMatchObject({
      code: "wait_timeout",
      jobId: id,
      message: `job ${id} did not end within 2000 ms: it is pending`,
    });
  });

  test("with a timeout of 0 looks once", async () => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t");
    await expect(client.wait(id, { timeout: 0 })).rejects.toMatchObject({ code: "wait_timeout" });
  });

  test("ends when its signal aborts, with the signal's reason", async () => {
    const { client, clock } = await openClient();
    const { id } = await client.enqueue("t");
    const controller = new AbortController();
    const waiting = endOf(client.wait(id, { signal: controller.signal }));
    await clock.settle();
    controller.abort(new Error("enough"));
    expect(await waiting).toMatchObject({ message: "enough" });
    await expect(client.wait(id, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
  });

  test("ends when the client closes", async () => {
    const { client, clock } = await openClient();
    const { id } = await client.enqueue("t");
    const waiting = endOf(client.wait(id));
    await clock.settle();
    await client.close();
    expect(await waiting).toMatchObject({ code: "closed" });
  });

  test("for a job that is not there, or vanishes, is told so", async () => {
    const { client, store, clock } = await openClient();
    await expect(client.wait(MISSING_ID)).rejects.toMatchObject({ code: "not_found", jobId: MISSING_ID });
    const { id } = await client.enqueue("t");
    const waiting = endOf(client.wait(id));
    await clock.settle();
    store.find = async (ids) => ids.map(() => null);
    await clock.advance("1s");
    expect(await waiting).toMatchObject({ code: "not_found" });
  });

  test.each([{ timeout: -1 }, { timeout: "soon" }, { signal: {} }, { timeuot: 5 }])("refuses the options %j", async (options) => {
    const { client } = await openClient();
    await expect(client.wait(MISSING_ID, options as never)).rejects.toMatchObject({
      code: "invalid_input",
      field: Object.keys(options)[0],
    });
  });
});
