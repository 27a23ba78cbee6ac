import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/core/event.ts";
import { MAX_SINGLES } from "../../../src/core/event-digest.ts";
import { createServer, type ServerOptions } from "../../../src/http/server.ts";
import { type Opened, openClient } from "../client/open-client.ts";
import { openApi, WAYS } from "./open-api.ts";
import { EventReading } from "./read-events.ts";

interface Setting extends Opened {
  readonly open: (headers?: Record<string, string>) => Promise<EventReading>;
  readonly send: (path: string, init?: RequestInit) => Promise<Response>;
  readonly drain: () => Promise<void>;
}

/** A server over a store in memory, with a clock turned by hand. */
async function setUp(options: ServerOptions = {}): Promise<Setting> {
  const opened = await openClient();
  const server = createServer(opened.client, { open: true, clock: opened.clock, ...options });
  const send = async (path: string, init?: RequestInit): Promise<Response> => server.fetch(new Request(`http://h${path}`, init));
  return {
    ...opened,
    send,
    open: async (headers = {}) => new EventReading(await send("/api/v1/events", { headers })),
    drain: () => server.drain(),
  };
}

function dead(number: number): Event {
  return { event: "job:dead", at: 0, jobId: String(number), type: "t", queue: "q", error: "" };
}

/** Tells so many events as slowly as they are told one by one. */
async function tellSingly({ store, clock }: Opened, count: number): Promise<void> {
  for (let told = 0; told < count; told += MAX_SINGLES) {
    await store.publish(Array.from({ length: Math.min(MAX_SINGLES, count - told) }, (_, index) => dead(told + index)));
    await clock.advance("1s");
  }
}

describe("one who comes back", () => {
  test("gets what it missed, and nothing twice", async () => {
    const setting = await setUp();
    const first = await setting.open();
    await tellSingly(setting, 3);
    const id = (await first.until(({ data }) => data["job_id"] === "1")).at(-1)!.id!;
    await first.cancel();
    await tellSingly(setting, 5);
    const back = await setting.open({ "last-event-id": id });
    const seen = await back.until(({ data }) => data["job_id"] === "4");
    expect(seen.map(({ event, data }) => [event, data["job_id"]])).toEqual(["2", "0", "1", "2", "3", "4"].map((job) => ["job:dead", job]));
  });

  test("may say so in the address, and the header goes first", async () => {
    const setting = await setUp();
    const first = await setting.open();
    await tellSingly(setting, 3);
    const [one, two] = await first.until(({ data }) => data["job_id"] === "2");
    const byAddress = new EventReading(await setting.send(`/api/v1/events?last_event_id=${one!.id}`));
    expect((await byAddress.until(() => true))[0]?.data).toMatchObject({ job_id: "1" });
    const byBoth = new EventReading(
      await setting.send(`/api/v1/events?last_event_id=${one!.id}`, { headers: { "last-event-id": two!.id! } }),
    );
    expect((await byBoth.until(() => true))[0]?.data).toMatchObject({ job_id: "2" });
  });

  test("before it had any event misses none either", async () => {
    const setting = await setUp();
    const first = await setting.open();
    await first.step();
    const id = first.lastId!;
    await first.cancel();
    await tellSingly(setting, 1);
    const back = await setting.open({ "last-event-id": id });
    expect(await back.until(() => true)).toMatchObject([{ event: "job:dead" }]);
  });

  test.each(["17", "0123456789ab-1", "x".repeat(5000)])("with an id that is not ours (%#) is told of a gap first", async (id) => {
    const setting = await setUp();
    const back = await setting.open({ "last-event-id": id });
    await tellSingly(setting, 1);
    expect(await back.until(({ event }) => event === "job:dead")).toMatchObject([
      { event: "gap", data: { missed: 0 } },
      { event: "job:dead" },
    ]);
  });

  test("after nobody had read for a while is told of a gap, as nobody listened", async () => {
    const setting = await setUp();
    const first = await setting.open();
    await tellSingly(setting, 1);
    await first.until(() => true);
    await first.cancel();
    await setting.clock.advance("1m");
    const back = await setting.open({ "last-event-id": first.lastId! });
    expect(await back.until(() => true)).toMatchObject([{ event: "gap", data: { missed: 0 } }]);
  });
});

describe("a reader who does not read", () => {
  test("is told how much it missed, and what is kept for it has a bound", async () => {
    const setting = await setUp();
    const slow = await setting.open();
    await tellSingly(setting, 30_000);
    await setting.store.publish([{ event: "queue:paused", at: 0, queue: "end" }]);
    await setting.clock.advance("1s");
    const seen = await slow.until(({ event }) => event === "queue:paused");
    const gaps = seen.filter(({ event }) => event === "gap");
    expect(gaps).toHaveLength(1);
    const missed = gaps[0]!.data["missed"] as number;
    expect(missed).toBeGreaterThan(18_000);
    expect(seen.length - gaps.length + missed).toBe(30_001);
  });

  test("is let go after a minute, and its place is free", async () => {
    const { send, clock } = await setUp({ limits: { streams: 1 } });
    const idle = await send("/api/v1/events");
    expect((await send("/api/v1/events")).status).toBe(503);
    await clock.advance("2m");
    expect((await send("/api/v1/events")).status).toBe(200);
    await expect(idle.text()).rejects.toThrow("taken nothing");
  });

  test("but has nothing to read hears that the server is there, and stays", async () => {
    const { open, clock } = await setUp();
    const reading = await open();
    await reading.step();
    for (let beat = 1; beat <= 10; beat++) {
      const step = reading.step();
      await clock.advance("15s");
      await step;
      expect(reading.comments).toBe(beat);
    }
  });
});

describe("more than a reader could follow", () => {
  test("is told as counts and a gap, and one by one again when it is calm", async () => {
    const { client, clock, open } = await setUp();
    const reading = await open();
    await client.enqueueMany(Array.from({ length: MAX_SINGLES + 500 }, () => ({ type: "t", queue: "mail" })));
    await clock.advance("1s");
    const seen = await reading.until(({ event }) => event === "counts");
    expect(seen.filter(({ event }) => event === "job:created")).toHaveLength(MAX_SINGLES);
    expect(seen.slice(-2)).toMatchObject([
      { event: "gap", data: { missed: 500 } },
      { event: "counts", data: { counts: [{ event: "job:created", queue: "mail", count: 500 }] } },
    ]);
    await clock.advance("2s");
    const { id } = await client.enqueue("t");
    await clock.advance("1s");
    expect(await reading.until(() => true)).toMatchObject([{ event: "job:created", data: { job_id: id } }]);
  });

  test("is one sequence for all who read, however they are spread over processes", async () => {
    const setting = await setUp();
    const readings = [await setting.open(), await setting.open()];
    // As from ten processes, each of which tells as much one by one as it may.
    for (let process = 0; process < 10; process++) await setting.store.publish(Array.from({ length: MAX_SINGLES }, (_, n) => dead(n)));
    await setting.clock.advance("1s");
    const seen = await Promise.all(readings.map((reading) => reading.until(({ event }) => event === "counts")));
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]!.at(-1)).toMatchObject({ data: { counts: [{ event: "job:dead", count: 9 * MAX_SINGLES }] } });
  });
});

describe("the hub", () => {
  test("listens to the store only while somebody reads, and a little longer", async () => {
    const { store, clock, open } = await setUp();
    expect(store.newsWanted()).toBe(false);
    const readings = [await open(), await open()];
    expect(store.newsWanted()).toBe(true);
    for (const reading of readings) await reading.cancel();
    await clock.advance("10s");
    expect(store.newsWanted()).toBe(true);
    await clock.advance("10s");
    expect(store.newsWanted()).toBe(false);
  });

  test("ends with the server, and with the client", async () => {
    const drained = await setUp();
    const streams = [await drained.open(), await drained.open()];
    await drained.drain();
    for (const stream of streams) expect(await stream.until(() => false)).toEqual([]);
    expect(drained.store.newsWanted()).toBe(false);

    const closed = await setUp();
    const stream = await closed.open();
    await closed.client.close();
    expect(await stream.until(() => false)).toEqual([]);
    expect((await closed.send("/api/v1/events")).status).toBe(503);
  });
});

describe("places for readers", () => {
  test("the 1,001st is refused, and told when to come again", async () => {
    const { send } = await setUp();
    const streams = await Promise.all(Array.from({ length: 1000 }, () => send("/api/v1/events")));
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
    const refused = await send("/api/v1/events");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "10"]);
    expect(await refused.json()).toMatchObject({ code: "overloaded", detail: expect.stringContaining("1000 open streams") as string });
    await streams[0]!.body!.cancel();
    expect((await send("/api/v1/events")).status).toBe(200);
  });

  test("one key has so many, and takes none from another", async () => {
    const { send } = await setUp({ open: false, keys: ["first-key", "second-key"], limits: { streamsPerCaller: 2 } });
    const as = (key: string): Promise<Response> => send("/api/v1/events", { headers: { "x-api-key": key } });
    const streams = [await as("first-key"), await as("first-key")];
    const refused = await as("first-key");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
    expect((await as("second-key")).status).toBe(200);
    await streams[0]!.body!.cancel();
    expect((await as("first-key")).status).toBe(200);
  });

  test.each(WAYS)("a request for the headers alone takes none (by %s)", async (way) => {
    const { send } = await openApi({ limits: { streams: 1, waiting: 1 } }, way);
    for (const path of ["/api/v1/events", "/api/v1/leases/watch", "/api/v1/events"]) {
      const head = await send(path, { method: "HEAD" });
      expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([200, "text/event-stream", ""]);
    }
    const stream = await send("/api/v1/events");
    expect(stream.status).toBe(200);
    await stream.body!.cancel();
  });
});
