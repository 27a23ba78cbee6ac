import { describe, expect, test } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import type { HandledJob, WorkOptions } from "../../../src/client/client.ts";
import type { Trouble } from "../../../src/core/trouble.ts";
import { createTestClient } from "../../../src/testing/index.ts";
import { openClient } from "../client/open-client.ts";

const handled = (type: string, queue?: string): HandledJob => defineJob({ type, queue }).handle(() => {});

/** What the client and the worker tell when such a worker starts. */
async function told(handlers: readonly HandledJob[], options?: WorkOptions): Promise<{ client: string[]; worker: string[] }> {
  const heard = { client: [] as string[], worker: [] as string[] };
  const { client } = await openClient({ onTrouble: ({ kind, message }: Trouble) => heard.client.push(`${kind}: ${message}`) });
  const worker = client.work(handlers, options);
  worker.on("trouble", ({ kind, message }) => void heard.worker.push(`${kind}: ${message}`));
  await Promise.resolve();
  await worker.stop();
  return heard;
}

describe("a worker whose handlers are defined for a queue that it does not serve", () => {
  test("says so once, to the client and to its own listeners", async () => {
    const line =
      'setting: the worker serves default, but order:confirm is defined for queue mail: to run such jobs here, serve that queue too: queues: ["default", "mail"]';
    expect(await told([handled("order:confirm", "mail"), handled("plain")])).toEqual({ client: [line], worker: [line] });
  });

  test("names each such queue, with the first of its types", async () => {
    const handlers = [handled("a", "mail"), handled("b", "mail"), handled("c", "mail"), handled("d", "slow"), handled("e", "fast")];
    const { client } = await told(handlers, { queues: ["fast"] });
    expect(client).toMatchObject([
      expect.stringContaining("serves fast, but a and 2 more types are defined for queue mail: "),
      expect.stringContaining("serves fast, but d is defined for queue slow: "),
    ]);
  });

  test("says nothing if it serves that queue, by name or with all others", async () => {
    const handlers = [handled("a", "mail"), handled("b", "default"), handled("c")];
    expect((await told(handlers, { queues: ["default", "mail"] })).client).toEqual([]);
    expect((await told(handlers, { queues: { default: 1, mail: 3 } })).client).toEqual([]);
    expect((await told(handlers, { queues: ["*"] })).client).toEqual([]);
  });

  test("a drain of the test client runs all queues, and has nothing to say", async () => {
    const troubles: Trouble[] = [];
    await using client = await createTestClient({ onTrouble: (trouble) => troubles.push(trouble) });
    expect(await client.drain([handled("a", "mail")])).toMatchObject({ completed: 0 });
    await client.enqueue(defineJob({ type: "a", queue: "mail" }));
    expect(await client.drain([handled("a", "mail")])).toMatchObject({ completed: 1 });
    expect(troubles).toEqual([]);
  });
});
