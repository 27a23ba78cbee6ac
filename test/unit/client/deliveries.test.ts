import { describe, expect, onTestFinished, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { connect } from "../../../src/connect.ts";
import { ALL_DELIVERIES, WEBHOOK_TYPE } from "../../../src/core/delivery.ts";

const webhookUrl = "https://example.com/hook";

async function open(): Promise<Client> {
  const client = await connect("memory:");
  onTestFinished(() => client.close());
  return client;
}

/** Runs what there is of deliveries, as they come; `next` gives them one by one. */
function deliveries(client: Client): { next: () => Promise<unknown> } {
  const heard: unknown[] = [];
  let wake: () => void = () => {};
  client.work(
    {
      [WEBHOOK_TYPE]: async (payload) => {
        heard.push(payload);
        wake();
      },
    },
    { queues: [ALL_DELIVERIES] },
  );
  return {
    async next() {
      while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return heard.shift();
    },
  };
}

describe("the delivery of a webhook", () => {
  test("follows a job that completed and one that died, whatever its queue", async () => {
    const client = await open();
    const sent = deliveries(client);
    client.work({ t: async () => 1, boom: () => Promise.reject(new Error("no")) }, { queues: ["default", "mail"] });
    const good = await client.enqueue("t", 1, { webhookUrl });
    expect(await sent.next()).toEqual({ job_id: good.id, status: "completed" });
    const bad = await client.enqueue("boom", 1, { webhookUrl, queue: "mail", maxRetries: 0 });
    expect(await sent.next()).toEqual({ job_id: bad.id, status: "dead" });
  });

  test("does not follow a job without one, nor one that was cancelled", async () => {
    const client = await open();
    const sent = deliveries(client);
    const cancelled = await client.enqueue("t", 1, { webhookUrl, delay: "1h" });
    await client.cancel(cancelled.id);
    await client.enqueue("t", 1);
    client.work({ t: async () => 1 });
    const last = await client.enqueue("t", 1, { webhookUrl });
    expect(await sent.next()).toEqual({ job_id: last.id, status: "completed" });
  });

  test("goes on while the queue is paused, and is not counted among its jobs", async () => {
    const client = await open();
    const worker = client.work({ t: async () => 1 });
    const job = await client.enqueue("t", 1, { webhookUrl });
    await client.wait(job.id);
    await worker.stop();
    await client.pause("default");
    expect(await deliveries(client).next()).toEqual({ job_id: job.id, status: "completed" });
    expect((await client.queues()).map(({ name }) => name)).toEqual(["default"]);
    expect(await client.stats()).toMatchObject({ totalProcessed: 1, totalEnqueued: 1, counts: { completed: 1 } });
  });

  test("is of a type that nobody else may enqueue", async () => {
    const client = await open();
    await expect(client.enqueue(WEBHOOK_TYPE, {})).rejects.toMatchObject({ code: "invalid_input", field: "type" });
  });
});
