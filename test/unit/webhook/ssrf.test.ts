/** Requests into one's own network, asked for over HTTP as a stranger would: by a job that is a request, and by a webhook. */
import { describe, expect, onTestFinished, test } from "vitest";
import { createServer } from "../../../src/http/server.ts";
import { createTestClient, type TestClient } from "../../../src/testing/index.ts";
import { webhookHandlers } from "../../../src/webhook/webhook-handlers.ts";
import { type LoopbackServer, serve } from "./loopback-server.ts";

/** Each is this machine, its network, or a place that tells secrets; `PORT` is one that listens. */
const INSIDE = [
  "http://127.0.0.1:PORT/",
  "http://127.1:PORT/",
  "http://0x7f000001:PORT/",
  "http://2130706433:PORT/",
  "http://017700000001:PORT/",
  "http://0:PORT/",
  "http://[::]:PORT/",
  "http://[::1]:PORT/",
  "http://[::ffff:127.0.0.1]:PORT/",
  "http://[::ffff:10.0.0.1]:PORT/",
  "http://[64:ff9b::7f00:1]:PORT/",
  "http://169.254.169.254/latest/meta-data/",
  "http://10.0.0.1:PORT/",
  "http://100.64.0.1:PORT/",
  "http://224.0.0.1:PORT/",
  "http://localhost:PORT/",
  "http://localhost.:PORT/",
  "http://user@127.0.0.1:PORT/",
  "http://127.0.0.1:6379/",
  "http://rebinds.test:PORT/",
];

/** Of a name nobody can say where it leads; all others can be seen to lead inside. */
function expected(address: string): number {
  return address.includes("rebinds.test") ? 201 : 422;
}

interface Stage {
  readonly client: TestClient;
  readonly inside: LoopbackServer;
  readonly enqueue: (job: object) => Promise<{ status: number; id: string }>;
  /** Works off what waits, deliveries too. */
  readonly work: () => Promise<void>;
}

async function openStage(allow: string[] = []): Promise<Stage> {
  const client = await createTestClient({ webhookAllow: allow });
  onTestFinished(() => client.close());
  const inside = await serve((_, response) => response.end("secret"));
  const server = createServer(client, { open: true });
  // A name that was harmless when one looked and leads inside when one calls: every look counts.
  const resolve = async () => [{ address: "127.0.0.1", family: 4 as const }];
  const handlers = webhookHandlers({ client, allow, resolve, now: () => client.clock.now() });
  return {
    client,
    inside,
    async enqueue(job) {
      const headers = { "content-type": "application/json" };
      const response = await server.fetch(new Request("http://h/api/v1/jobs", { method: "POST", headers, body: JSON.stringify(job) }));
      return { status: response.status, id: ((await response.json()) as { id: string }).id };
    },
    work: async () => void (await client.drain({ ...handlers, task: async () => "done" })),
  };
}

describe("W14: a request into one's own network", () => {
  test.each(INSIDE)("%s is blocked as a job, and no packet is sent", async (address) => {
    const { client, inside, enqueue, work } = await openStage();
    const { status, id } = await enqueue({ type: "http:request", payload: { url: address.replace("PORT", String(inside.port)) } });
    expect(status).toBe(expected(address));
    await work();
    if (status === 201) expect(await client.get(id)).toMatchObject({ status: "dead", attempt: 1, error: { name: "Blocked" } });
    expect(inside.connections()).toBe(0);
  });

  test.each(INSIDE)("%s is blocked as a webhook, and no packet is sent", async (address) => {
    const { client, inside, enqueue, work } = await openStage();
    const { status, id } = await enqueue({ type: "task", webhook_url: address.replace("PORT", String(inside.port)) });
    expect(status).toBe(expected(address));
    await work();
    if (status === 201) expect((await client.get(id))?.status).toBe("completed");
    expect(inside.connections()).toBe(0);
  });

  test("is opened by its range, for both", async () => {
    const { client, inside, enqueue, work } = await openStage(["127.0.0.1"]);
    const url = `http://127.0.0.1:${inside.port}/`;
    const request = await enqueue({ type: "http:request", payload: { url } });
    const task = await enqueue({ type: "task", webhook_url: url });
    expect([request.status, task.status]).toEqual([201, 201]);
    await work();
    expect(await client.get(request.id)).toMatchObject({ status: "completed" });
    expect(inside.connections()).toBe(1);
  });

  test("by a redirect is not followed", async () => {
    const { client, inside, enqueue, work } = await openStage(["127.0.0.2"]);
    const outside = await serve(
      (_, response) => response.writeHead(302, { location: `http://127.0.0.1:${inside.port}/` }).end(),
      "127.0.0.2",
    );
    const { id } = await enqueue({ type: "http:request", payload: { url: `http://127.0.0.2:${outside.port}/` } });
    await work();
    expect(outside.connections()).toBe(1);
    expect(inside.connections()).toBe(0);
    expect((await client.get(id))?.status).not.toBe("completed");
  });
});
