import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { connect } from "../../../src/connect.ts";
import type { Event } from "../../../src/core/event.ts";
import { listen, type Listening } from "../../../src/http/listen.ts";
import { createServer, type Server } from "../../../src/http/server.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { TcpProxy } from "../../servers/tcp-proxy.ts";
import { openApi } from "./open-api.ts";

/** Events of a remote client, from the first that shows that the stream is open. */
async function openEvents(remote: Client, local: Client): Promise<AsyncIterator<Event>> {
  const events = remote.events()[Symbol.asyncIterator]();
  const first = events.next().then(() => true);
  const aMoment = (): Promise<boolean> => new Promise((resolve) => setTimeout(resolve, 10, false));
  // Each is a change, so each is announced.
  do {
    await local.pause("opening", { create: true });
    await local.resume("opening");
  } while (!(await Promise.race([first, aMoment()])));
  return events;
}

/** All that comes until an event fits, but for those by which the stream was opened. */
async function until(events: AsyncIterator<Event>, isLast: (event: Event) => boolean): Promise<Event[]> {
  const seen: Event[] = [];
  for (;;) {
    const { value, done } = (await events.next()) as IteratorYieldResult<Event> | IteratorReturnResult<undefined>;
    if (done === true) throw new Error("the events ended");
    if (!("queue" in value && value.queue === "opening")) seen.push(value);
    if (isLast(value)) return seen;
  }
}

const isCreated =
  (id: string) =>
  (event: Event): boolean =>
    event.event === "job:created" && event.jobId === id;

async function openRemote(url: string, clock?: Clock): Promise<Client> {
  const remote = await connect(url, { onTrouble: () => {}, ...(clock === undefined ? {} : { clock }) });
  onTestFinished(() => remote.close({ grace: 0 }));
  return remote;
}

async function openWired(clock?: Clock): Promise<{ remote: Client; client: Client; wire: TcpProxy }> {
  const { url, client } = await openApi();
  const wire = await TcpProxy.to(Number(new URL(url).port));
  const remote = await openRemote(`http://127.0.0.1:${wire.port}`, clock);
  onTestFinished(() => {
    wire.heal();
    wire.close();
  });
  return { remote, client, wire };
}

/** A server that answers every call with these bytes as a stream of events, cut in two at every place in turn, and says how often it was asked. */
async function openRaw(text: string): Promise<string> {
  const bytes = Buffer.from(text);
  let asked = 0;
  const server = createHttpServer((_request, response) => {
    const at = 1 + (asked++ % (bytes.byteLength - 1));
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(bytes.subarray(0, at), () => setImmediate(() => response.end(bytes.subarray(at))));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("events of a remote client", () => {
  test.each([
    ["\n", ""],
    ["\r\n", ""],
    ["\r", ""],
    ["\n", "\uFEFF"],
  ])("are read with line ends %j, after %j, with comments, retry and data on several lines, however they are cut", async (end, start) => {
    const lines = [
      "retry: 10",
      "",
      ": beat",
      "",
      "id: 7",
      "event:queue:paused",
      'data: {"event":"queue:paused",',
      'data: "at":"2030-01-01T00:00:00Z",',
    ];
    const stream = start + [...lines, 'data:"queue":"größe"}', "", "event: half", "data: {", ""].join(end);
    const fastClock: Clock = { ...systemClock, setTimer: (run, ms) => systemClock.setTimer(run, ms / 100) };
    const events = (await openRemote(await openRaw(stream), fastClock)).events()[Symbol.asyncIterator]();
    for (let count = 0; count < Buffer.byteLength(stream); count++) {
      expect((await events.next()).value).toEqual({ event: "queue:paused", at: Date.UTC(2030, 0, 1), queue: "größe" });
    }
  });

  test("go on where they were when the connection breaks: none is missed, none comes twice", async () => {
    const { remote, client, wire } = await openWired();
    const events = await openEvents(remote, client);
    const ids: string[] = [];
    for (let cuts = 0; cuts < 5; cuts++) {
      wire.cut();
      for (let job = 0; job < 20; job++) ids.push((await client.enqueue("t")).id);
      const seen = await until(events, isCreated(ids.at(-1)!));
      expect(seen.map((event) => ("jobId" in event ? event.jobId : event.event))).toEqual(ids.splice(0));
    }
    expect(wire.effects.cut).toBeGreaterThanOrEqual(5);
  });

  test("go on when a connection is dead and nobody said so", async () => {
    // The test says when a silence has lasted too long.
    let silenceIsTooLong = (): void => {};
    const setTimer: Clock["setTimer"] = (callback, ms) => {
      if (ms !== 45_000) return systemClock.setTimer(callback, ms);
      silenceIsTooLong = callback;
      return { cancel: () => {} };
    };
    const { remote, client, wire } = await openWired({ ...systemClock, setTimer });
    const events = await openEvents(remote, client);
    wire.silence();
    silenceIsTooLong();
    const { id } = await client.enqueue("t");
    expect(await until(events, isCreated(id))).toMatchObject([{ event: "job:created", jobId: id }]);
  });

  test("have one gap while the server is away, and go on with the next that is there", async () => {
    const client = await connect("memory:");
    const start = async (port: number): Promise<{ server: Server; listening: Listening }> => {
      const server = createServer(client, {});
      return { server, listening: await listen(server, { port }) };
    };
    const stop = async ({ server, listening }: Awaited<ReturnType<typeof start>>): Promise<void> => {
      await server.drain();
      await listening.close({ graceMs: 0 });
    };
    const first = await start(0);
    const remote = await openRemote(first.listening.url);
    const events = await openEvents(remote, client);
    await stop(first);
    expect(await until(events, ({ event }) => event === "gap")).toMatchObject([{ event: "gap", missed: 0 }]);
    const next = await start(first.listening.port);
    onTestFinished(async () => {
      await stop(next);
      await client.close();
    });
    // The new server does not know the last event, and says so.
    expect(await until(events, ({ event }) => event === "gap")).toMatchObject([{ event: "gap", missed: 0 }]);
    const { id } = await client.enqueue("t");
    expect(await until(events, isCreated(id))).toMatchObject([{ event: "job:created" }]);
  });

  test("are sums when there are too many, as those of a local client are", async () => {
    const { remote, client } = await openWired();
    const [far, near] = [await openEvents(remote, client), client.events()[Symbol.asyncIterator]()];
    await client.enqueueMany(Array.from({ length: 3000 }, () => ({ type: "t", queue: "mail" })));
    for (const events of [far, near]) {
      let told = 0;
      while (told < 3000) {
        const [event] = await until(events, () => true);
        if (event?.event === "job:created") told++;
        if (event?.event === "counts") told += event.counts.reduce((sum, { count }) => sum + count, 0);
      }
      expect(told).toBe(3000);
      await events.return?.();
    }
  });
});
