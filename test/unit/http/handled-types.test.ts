import { describe, expect, test } from "vitest";
import { HandledTypes } from "../../../src/http/handled-types.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { openApi } from "./open-api.ts";

const json = { type: "t", payload: null };

describe("the answer to a new job", () => {
  test("says when nobody is there for it, from a server that runs jobs itself", async () => {
    const { ask } = await openApi({ types: ["own"] });
    expect((await ask("POST /api/v1/jobs", { json })).body).toMatchObject({
      notice: "no live worker handles type t in queue default: the job waits until one takes it",
    });
    expect((await ask("POST /api/v1/jobs", { json: { ...json, type: "own" } })).body).not.toHaveProperty("notice");
  });

  test("says nothing where others do the work", async () => {
    const { ask } = await openApi();
    expect((await ask("POST /api/v1/jobs", { json })).body).not.toHaveProperty("notice");
  });

  test("says nothing of a type that a worker elsewhere takes", async () => {
    const { ask, client } = await openApi({ types: ["own"] });
    const worker = client.work({ t: () => null });
    while ((await client.workers()).length === 0);
    expect((await ask("POST /api/v1/jobs", { json })).body).not.toHaveProperty("notice");
    const elsewhere = { json: { ...json, queue: "another" } };
    expect((await ask("POST /api/v1/jobs", elsewhere)).body).toHaveProperty("notice");
    await worker.stop();
  });

  test("says of a type whose only worker is shutting down what explain says of its job", async () => {
    const { ask, client } = await openApi({ types: ["own"] });
    const entry = { id: "w", host: "h", pid: 1, slots: 1, queues: ["default"], types: ["t"], startedAt: Date.now(), running: [] };
    await client.leases.register({ ...entry, state: "stopping", runningCount: 0, processed: 0, perMinute: 0, abandoned: 0 }, 60_000);
    const { body } = await ask("POST /api/v1/jobs", { json });
    expect(body).toHaveProperty("notice");
    expect((await client.explain((body as { id: string }).id)).reasons[0]).toMatchObject({ code: "no_worker" });
  });

  test("does not wait for a store that does not answer, and asks it once", async () => {
    let asked = 0;
    const workers = (): Promise<never> => (asked++, new Promise(() => {}));
    const types = new HandledTypes({ client: { workers }, clock: systemClock, own: [] });
    const job = { queue: "default", type: "t" };
    expect(await Promise.all([types.noticeOf(job), types.noticeOf(job)])).toEqual([undefined, undefined]);
    expect(asked).toBe(1);
  });
});
