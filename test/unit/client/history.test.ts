import { describe, expect, test } from "vitest";
import { claim, die, openClient, START } from "./open-client.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("history", () => {
  test("has a point for each of the last 24 hours, also for those in which nothing happened", async () => {
    const { client } = await openClient();
    const points = await client.history();
    expect(points).toHaveLength(24);
    expect(points.at(-1)).toEqual({ at: START - (START % HOUR), enqueued: 0, completed: 0, failed: 0, retried: 0 });
    expect(points.map(({ at }) => at)).toEqual(points.map((_, index) => points[0]!.at + index * HOUR));
  });

  test("counts each thing in the hour in which it happened", async () => {
    const { client, clock } = await openClient();
    await client.enqueueMany([{ type: "a" }, { type: "a" }, { type: "a", queue: "b" }]);
    await die(client);
    await clock.advance("1h");
    const [lease] = (await claim(client, 1)).jobs;
    const { job, fence, facts } = lease!;
    await client.leases.exchange([{ id: job.id, fence, facts, outcome: { kind: "completed", result: null, runMs: 40 } }], null);
    const [before, last] = (await client.history()).slice(-2);
    expect(before).toMatchObject({ enqueued: 3, completed: 0, failed: 1 });
    expect(last).toMatchObject({ enqueued: 0, completed: 1, failed: 0 });
    expect((await client.history({ queue: "b" })).at(-2)).toMatchObject({ enqueued: 1, failed: 0 });
  });

  test("goes by minutes, and from one moment to another, when told to", async () => {
    const { client, clock } = await openClient();
    await clock.advance("10m");
    await client.enqueue("t");
    const now = START + 10 * MINUTE;
    expect(await client.history({ step: "minute" })).toHaveLength(60);
    const points = await client.history({ step: "minute", from: now - 2 * MINUTE, to: new Date(now).toISOString() });
    expect(points.map(({ enqueued }) => enqueued)).toEqual([0, 0, 1]);
  });

  test.each([
    [{ step: "day" }, "step"],
    [{ queue: "no such name!" }, "queue"],
    [{ from: "yesterday" }, "from"],
    [{ from: START, to: START - 2 * HOUR }, "from"],
    [{ from: START - 2000 * HOUR }, "from"],
    [{ form: START }, "form"],
  ])("refuses %j", async (query, field) => {
    const { client } = await openClient();
    await expect(client.history(query as never)).rejects.toMatchObject({ code: "invalid_input", field });
  });
});
