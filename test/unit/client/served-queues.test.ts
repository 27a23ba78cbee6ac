import { describe, expect, onTestFinished, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { ServedQueues } from "../../../src/client/served-queues.ts";
import { connect } from "../../../src/connect.ts";
import { systemClock } from "../../../src/lib/clock.ts";

async function open(): Promise<Client> {
  const client = await connect("memory:");
  onTestFinished(() => client.close());
  return client;
}

describe("a worker of all queues", () => {
  test("takes jobs from queues that came after it", async () => {
    const client = await open();
    client.work({ t: async (payload) => payload }, { queues: ["*"] });
    for (const queue of ["default", "mail", "reports"]) {
      const { id } = await client.enqueue("t", queue, { queue });
      expect(await client.wait(id)).toMatchObject({ status: "completed", queue });
    }
  });

  test("begins each claim with another queue, and asks none twice", async () => {
    const names = ["a", "b", "c", "a~webhooks"].map((name) => ({ name }));
    const served = new ServedQueues({ queues: async () => names as never }, systemClock);
    expect(await served.expand(["*"])).toEqual(["a", "b", "c"]);
    expect(await served.expand(["*"])).toEqual(["b", "c", "a"]);
    expect(await served.expand(["b", "*"])).toEqual(["b", "c", "a"]);
    expect(await served.expand(["*~webhooks"])).toEqual(["a~webhooks"]);
    expect(served.expand(["x", "y"])).toEqual(["x", "y"]);
  });

  test("knows its queues as soon as the store answers, after a read that failed", async () => {
    let isAway = true;
    const queues = async () => (isAway ? Promise.reject(new Error("away")) : ([{ name: "a" }] as never));
    const served = new ServedQueues({ queues }, systemClock);
    await expect(served.expand(["*"])).rejects.toThrow("away");
    isAway = false;
    expect(await served.expand(["*"])).toEqual(["a"]);
  });
});
