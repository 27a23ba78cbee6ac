/** What happens in one process is heard by those who read in others: over HTTP and WebSockets, on each engine that processes can share. */
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { type Client, connect } from "../../src/index.ts";
import { EventReading } from "../unit/http/read-events.ts";
import { SocketReading } from "../unit/http/read-socket.ts";
import { type RunningCli, startCli } from "./run-cli.ts";
import { startProgram, temporaryFolder } from "./run-program.ts";
import { storesOfThisFile } from "./stores-of-this-file.ts";

const KEY = "a-key-of-the-tests";
const WORKER = fileURLToPath(new URL("./programs/worker.ts", import.meta.url));

const ENGINES = storesOfThisFile();

interface Serving {
  readonly cli: RunningCli;
  readonly url: string;
}

async function serving(store: string): Promise<Serving> {
  const env = { MILLRACE_URL: store, API_KEY: KEY, PORT: "0", LOG_LEVEL: "warn" };
  const cli = startCli(["server"], { cwd: temporaryFolder(), env });
  await cli.said("/docs\n");
  return { cli, url: /API on (\S+)\/api\/v1/.exec(cli.output.stderr)![1]! };
}

async function openStream({ url }: Serving, lastId?: string): Promise<EventReading> {
  const headers = { "x-api-key": KEY, ...(lastId === undefined ? {} : { "last-event-id": lastId }) };
  return new EventReading(await fetch(`${url}/api/v1/events`, { headers }));
}

async function openSocket({ url }: Serving): Promise<SocketReading> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/ws`, { headers: { "x-api-key": KEY } });
  const reading = new SocketReading(socket);
  await once(socket, "open");
  return reading;
}

/** Others learn within a moment that somebody listens: until then one gives them something to tell. */
async function untilHeard(client: Client, heard: readonly Promise<unknown>[]): Promise<void> {
  const all = Promise.all(heard).then(() => true);
  const aMoment = (): Promise<boolean> => new Promise((resolve) => setTimeout(resolve, 20, false));
  do await client.enqueue("task");
  while (!(await Promise.race([all, aMoment()])));
}

describe.each(ENGINES)("events of all processes on %s", (_name, storeUrl) => {
  test("reach those who read from any server, by a stream and by a WebSocket, and can be read again", async () => {
    const store = storeUrl();
    const [first, second] = await Promise.all([serving(store), serving(store)]);
    const ledger = join(temporaryFolder(), "ledger.jsonl");
    const worker = startProgram(WORKER, [store, ledger]);
    await worker.printed("ready");
    const client = await connect(store);
    onTestFinished(() => client.close());

    const stream = await openStream(first);
    const socket = await openSocket(second);
    const dataOf =
      (isLast: (data: Readonly<Record<string, unknown>>) => boolean) =>
      ({ data }: { readonly data: Readonly<Record<string, unknown>> }): boolean =>
        isLast(data);
    const allKinds = (id?: string) => {
      const missing = new Set(["job:created", "job:started", "job:completed"]);
      return (data: Readonly<Record<string, unknown>>): boolean => {
        if (id === undefined || data["job_id"] === id) missing.delete(data["event"] as string);
        return missing.size === 0;
      };
    };
    await untilHeard(client, [stream.until(dataOf(allKinds())), socket.until(allKinds())]);
    const { id } = await client.enqueue("task", null, { priority: "high" });
    const byStream = (await stream.until(dataOf(allKinds(id)))).filter(({ data }) => data["job_id"] === id);
    const bySocket = (await socket.until(allKinds(id))).filter((message) => message["job_id"] === id);

    // What different processes tell may come in another order than it happened in.
    const story = [
      { event: "job:completed", job_id: id, type: "task", queue: "default", duration_ms: expect.any(Number) as number },
      { event: "job:created", job_id: id, type: "task", queue: "default", priority: "high", level: "high" },
      { event: "job:started", job_id: id, type: "task", queue: "default", worker_id: expect.any(String) as string, attempt: 1 },
    ];
    for (const told of [byStream.map(({ data }) => data), bySocket]) {
      const sorted = told.toSorted((one, other) => String(one["event"]).localeCompare(String(other["event"])));
      expect(sorted).toMatchObject(story);
    }

    await stream.cancel();
    const again = await openStream(first, byStream[0]!.id!);
    const rest = await again.until(({ id: last }) => last === byStream.at(-1)!.id);
    expect(rest.filter(({ data }) => data["job_id"] === id)).toEqual(byStream.slice(1));
    // Ids are of one server: another says that it does not know what came after.
    expect(await (await openStream(second, byStream[0]!.id!)).until(() => true)).toMatchObject([{ event: "gap" }]);

    second.cli.child.kill("SIGTERM");
    expect(await socket.closed).toEqual({ code: 1001, reason: "the server is shutting down" });
    expect((await second.cli.ended).code).toBe(0);
  });
});
