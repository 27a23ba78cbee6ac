import { describe, expect, test } from "vitest";
import { connect } from "../../../src/connect.ts";
import { dieOver, openApi } from "./open-api.ts";

describe("GET /api/v1/stats/history", () => {
  test("tells by hour what was counted", async () => {
    const api = await openApi();
    await api.client.enqueueMany([{ type: "a" }, { type: "a" }]);
    await dieOver(api, 1);
    const { body } = await api.ask("GET /api/v1/stats/history");
    expect(body.points).toHaveLength(24);
    const sum = (name: "enqueued" | "failed"): number => body.points.reduce((total, point) => total + point[name], 0);
    expect([sum("enqueued"), sum("failed")]).toEqual([2, 1]);
  });

  test("is the same over the remote client", async () => {
    const api = await openApi();
    await api.client.enqueue("t");
    await using remote = await connect(api.url);
    const now = Date.now();
    const query = { step: "minute", from: new Date(now - 120_000), to: new Date(now + 60_000), queue: "default" } as const;
    const [local, far] = [await api.client.history(query), await remote.history(query)];
    expect(far).toEqual(local);
    expect(far.reduce((total, point) => total + point.enqueued, 0)).toBe(1);
    const withTimes = { ...query, times: true };
    expect(await remote.history(withTimes)).toEqual(await api.client.history(withTimes));
    expect((await remote.history(withTimes))[0]?.run).toEqual({ p50: null, p95: null, p99: null });
    const ofType = { ...query, type: "t" };
    expect(await remote.history(ofType)).toEqual(await api.client.history(ofType));
    const span = { step: "minute", from: query.from } as const;
    expect(await remote.queueTypes("default", span)).toEqual(await api.client.queueTypes("default", span));
    expect(await remote.queueTypes("default")).toMatchObject([{ type: "t", enqueued: 1 }]);
  });

  test("refuses what it does not know", async () => {
    const api = await openApi();
    expect(await api.refuse("GET /api/v1/stats/history", { query: "step=day" }, "invalid_input")).toMatchObject({ field: "step" });
    expect(await api.refuse("GET /api/v1/stats/history", { query: "from=2020-01-01T00:00:00Z" }, "invalid_input")).toMatchObject({
      field: "from",
    });
  });
});
