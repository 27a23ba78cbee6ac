import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { connect } from "../../../src/connect.ts";
import { createTestClient } from "../../../src/testing/index.ts";
import type { Trouble } from "../../../src/core/trouble.ts";
import { JOB_EVENTS } from "../../../src/core/hook-events.ts";
import { claim, openClient } from "./open-client.ts";

/** The names of the events that are heard of each job, by its type. */
function listen(client: Client): string[] {
  const heard: string[] = [];
  for (const event of JOB_EVENTS) client.on(event, ({ type }, _error?: Error) => heard.push(`${event} ${type}`));
  return heard;
}

describe("client.on", () => {
  test("tells of a lost attempt in the process that ran it", async () => {
    const { client, clock } = await openClient({
      prepare: (store) => Object.assign(store, { extend: async (leases: readonly unknown[]) => leases.map(() => "stale") }),
    });
    const heard = listen(client);
    client.work({ t: () => new Promise(() => {}) }, { lease: "10s", settle: 0 });
    await client.enqueue("t", null, { timeout: 0 });
    await clock.advance("9s");
    expect(heard).toEqual(["started t", "lost t"]);
  });

  test("tells of attempts whose worker is gone where upkeep finds them, and of the jobs that are dead by that", async () => {
    const { client, clock } = await openClient({ upkeep: true });
    const heard = listen(client);
    const errors: string[] = [];
    client.on("dead", (_job, { name }) => errors.push(name));
    await client.enqueue("again");
    await client.enqueue("once", null, { maxLost: 0 });
    expect((await claim(client)).jobs).toHaveLength(2);
    await clock.advance("2m");
    expect(heard.toSorted()).toEqual(["dead once", "lost again", "lost once"]);
    expect(errors).toEqual(["LeaseLost"]);
  });

  test("leaves out internal jobs", async () => {
    const { client, clock } = await openClient();
    const heard = listen(client);
    const operation = await client.bulk.start({ action: "delete", all: true });
    await clock.advance("5s");
    expect(await client.bulk.get(operation.id)).toMatchObject({ status: "completed" });
    expect(heard).toEqual([]);
  });

  test("reports a failing listener once, however often it fails in the same way", async () => {
    const troubles: Trouble[] = [];
    const { client, clock } = await openClient({ onTrouble: (trouble) => troubles.push(trouble) });
    const reason = new Error("broken");
    client.on("completed", async () => Promise.reject(reason));
    client.work({ t: () => null });
    for (let n = 0; n < 3; n++) await client.enqueue("t");
    await clock.advance("5s");
    expect(troubles).toEqual([{ kind: "listener", message: 'a listener of "completed" failed: broken', error: reason }]);
  });

  test("survives a listener that throws what has no text", async () => {
    const troubles: Trouble[] = [];
    const { client, clock } = await openClient({ onTrouble: (trouble) => troubles.push(trouble) });
    client.on("completed", () => {
      throw Object.create(null);
    });
    client.work({ t: () => null });
    await client.enqueue("t");
    await clock.advance("1s");
    expect(troubles.map(({ message }) => message)).toEqual(['a listener of "completed" failed: something without a message was thrown']);
  });

  test("refuses an event that does not exist, and says its name here", async () => {
    const { client } = await openClient();
    const on = (event: unknown, listener: unknown): unknown => client.on(event as "dead", listener as () => void);
    expect(() => on("stalled", () => {})).toThrow(/got "stalled"\. It is called "lost" here/);
    expect(() => on("idle", () => {})).toThrow(/use worker\.on/);
    expect(() => on("complete", () => {})).toThrow(/got "complete"\. Did you mean "completed"\?/);
    expect(() => on("toString", () => {})).toThrow(/event must be one of started, completed/);
    expect(() => on("dead", null)).toThrow(/listener must be a function; got null/);
    const worker = client.work({ t: () => null });
    expect(() => worker.on("error" as "trouble", () => {})).toThrow(/It is called "trouble" here/);
  });
});

describe("a job that failed for good", () => {
  const doomed = {
    doomed: () => {
      throw new TypeError("no way\nat all");
    },
  };

  test("is one line of a library worker, with what and where", async () => {
    const troubles: Trouble[] = [];
    await using client = await connect("memory:", { onTrouble: (trouble) => troubles.push(trouble) });
    client.work(doomed);
    const { id } = await client.enqueue("doomed", null, { maxRetries: 1, retryDelay: 1 });
    await client.wait(id);
    await expect.poll(() => troubles).toHaveLength(1);
    expect(troubles).toMatchObject([{ kind: "dead", error: expect.any(TypeError) as unknown }]);
    expect(troubles[0]!.message).toBe(
      `job ${id} of type doomed failed for good after 2 attempts: TypeError: no way. Its stack and history: \`millrace status ${id}\`, client.get, or the dashboard`,
    );
  });

  test("is no line in tests", async () => {
    const troubles: Trouble[] = [];
    await using client = await createTestClient({ onTrouble: (trouble) => troubles.push(trouble) });
    await client.enqueue("doomed", null, { maxRetries: 0 });
    expect(await client.drain(doomed)).toMatchObject({ dead: 1 });
    expect(troubles).toEqual([]);
  });
});
