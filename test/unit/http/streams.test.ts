import { describe, expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import { createServer } from "../../../src/http/server.ts";
import { type Api, claimOver, openApi } from "./open-api.ts";
import { EventReading, type Read } from "./read-events.ts";

/** Reads a stream until an event fits. */
function readUntil(response: Response, isLast: (event: Read) => boolean): Promise<Read[]> {
  return new EventReading(response).until(isLast);
}

test.each(["/api/v1/events", "/api/v1/leases/watch"])("what is around the server passes on %s at once", async (path) => {
  const { send } = await openApi();
  const response = await send(path);
  expect(response.status).toBe(200);
  // The middleware `compression` of Express, as an example, would keep events until its buffer is full.
  expect(response.headers.get("cache-control")).toBe("no-store, no-transform");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  await response.body!.cancel();
});

describe("GET /api/v1/events", () => {
  test("tells events as the source design names them", async () => {
    const api: Api = await openApi();
    const { client, send, ask } = api;
    const response = await send("/api/v1/events");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const { id } = await client.enqueue("t", null, { priority: "high", maxRetries: 1, retryDelay: 0 });
    const [job] = await claimOver(api);
    const lease = { id: job!.id, fence: job!.fence };
    await ask("POST /api/v1/leases/note", { json: { notes: [{ ...lease, progress: { percent: 50 } }] } });
    await ask("POST /api/v1/leases/settle", { json: { outcomes: [{ ...lease, outcome: "failed", error: "no", delay: "1h" }] } });
    await client.cancel(id);
    const seen = await readUntil(response, ({ event }) => event === "job:cancelled");
    expect(seen.map(({ event }) => event)).toEqual(["job:created", "job:started", "job:progress", "job:failed", "job:cancelled"]);
    const about = { job_id: id, type: "t", queue: "default", at: expect.stringMatching(/Z$/) as string };
    expect(seen.map(({ data }) => data)).toMatchObject([
      { ...about, priority: "high", level: "high" },
      { ...about, worker_id: "w1", attempt: 1 },
      { ...about, progress: { percent: 50, note: null } },
      { ...about, error: "no", retry_count: 1, retry_at: expect.stringMatching(/Z$/) as string },
      about,
    ]);
  });

  test("one who comes back is told that some may have been missed", async () => {
    const { send } = await openApi();
    const response = await send("/api/v1/events", { headers: { "last-event-id": "17" } });
    expect((await readUntil(response, () => true))[0]).toMatchObject({ event: "gap" });
  });

  test("gives its place back when the reader goes", async () => {
    const { send, client } = await openApi({ limits: { waiting: 1 } });
    const first = await send("/api/v1/events");
    expect((await send("/api/v1/events")).status).toBe(503);
    await first.body!.cancel();
    for (;;) {
      const next = await send("/api/v1/events");
      await next.body!.cancel();
      if (next.status === 200) break;
      await client.pause("tick", { create: true });
    }
  });
});

describe("GET /api/v1/leases/watch", () => {
  test("hints where there is work already, where some comes, and that leases may be gone", async () => {
    const { send, client } = await openApi();
    await client.enqueue("t", null, { queue: "before" });
    await client.enqueue("t", null, { queue: "paused" });
    await client.pause("paused", { create: true });
    const response = await send("/api/v1/leases/watch");
    const reading = readUntil(response, ({ data }) => data["queue"] === "after");
    await client.enqueue("t", null, { queue: "after" });
    const seen = await reading;
    expect(seen[0]).toEqual({ id: null, event: "lease", data: {} });
    const queues = seen.flatMap(({ data }) => (data["queue"] === undefined ? [] : [data["queue"]]));
    expect(queues).toContain("before");
    expect(queues).not.toContain("paused");
  });

  test("is not left behind when the queues cannot be told", async () => {
    const { client } = await openApi();
    let watchers = 0;
    const { leases } = client;
    const watch: typeof leases.watch = (listener) => {
      const unwatch = leases.watch(listener);
      watchers++;
      return () => {
        watchers--;
        unwatch();
      };
    };
    const queues = (): Promise<never> => Promise.reject(new MillraceError("store_unavailable", "away"));
    const server = createServer({ ...client, queues, leases: { ...leases, watch } }, { open: true });
    expect((await server.fetch(new Request("http://h/api/v1/leases/watch"))).status).toBe(503);
    expect(watchers).toBe(0);
  });
});
