import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Context } from "../../../src/client/client.ts";
import { type Control, controlOf, Discard } from "../../../src/core/control-errors.ts";
import { WEBHOOK_TYPE } from "../../../src/core/delivery.ts";
import type { Job } from "../../../src/core/job.ts";
import { createTestClient, type TestClient } from "../../../src/testing/index.ts";
import { verifyWebhook } from "../../../src/webhook/verify.ts";
import { webhookHandlers, type WebhookOptions } from "../../../src/webhook/webhook-handlers.ts";
import { CERTIFICATE } from "./certificate.ts";
import { bodyOf, type LoopbackServer, serve, serveRaw, serveTls } from "./loopback-server.ts";

const NOW = Date.UTC(2030, 0, 1);
const SECRETS = ["old secret", "whsec_bmV3IHNlY3JldA=="];

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver that keeps what it gets and answers as it is told. */
async function receive(answer: (response: ServerResponse) => void): Promise<LoopbackServer & { received: Received[] }> {
  const received: Received[] = [];
  const server = await serve((request, response) => {
    void bodyOf(request).then((body) => {
      received.push({ headers: request.headers, body });
      answer(response);
    });
  });
  return { ...server, received };
}

/** How an attempt ended. */
type End = { readonly result: unknown } | { readonly control: Control | null; readonly error: Error };

interface Bench {
  readonly client: TestClient;
  readonly urlOf: (server: LoopbackServer) => string;
  /** Makes a job that has ended, or not. */
  readonly endedJob: (how: "completed" | "dead" | "pending", webhookUrl?: string) => Promise<Job>;
  /** Runs one attempt of a delivery. */
  readonly deliver: (payload: unknown, webhookUrl?: string | null, retryCount?: number, queue?: string) => Promise<End>;
}

const DELIVERY_ID = "0190d2f0-7b1a-7abc-8def-0123456789ab";

async function openBench(options: Partial<WebhookOptions> = {}): Promise<Bench> {
  const client = await createTestClient();
  onTestFinished(() => client.close());
  const handlers = webhookHandlers({
    client,
    secrets: SECRETS,
    allow: ["127.0.0.1"],
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
    now: () => NOW,
    random: () => 0.5,
    ...options,
  });
  return {
    client,
    urlOf: ({ port }) => `http://hooks.test:${port}/hook/T0P5ECRET`,
    endedJob: async (how, webhookUrl) => {
      const settings = { queue: "post", tags: ["t"], meta: { order: 7 }, maxRetries: 0, webhookUrl };
      const { id } = await client.enqueue("mail", { to: "ann@example.com" }, settings);
      const mail = how === "completed" ? () => ({ sent: true }) : () => Promise.reject(new Error("boom"));
      if (how !== "pending") await client.drain({ mail });
      return (await client.get(id))!;
    },
    deliver: async (payload, webhookUrl = null, retryCount = 0, queue = "post~webhooks") => {
      const { signal } = new AbortController();
      const job = { id: DELIVERY_ID, queue, webhookUrl, retryCount } as Job;
      try {
        return { result: await handlers[WEBHOOK_TYPE](payload, { job, signal } as Context) };
      } catch (error) {
        return { control: controlOf(error), error: error as Error };
      }
    },
  };
}

describe("a delivery", () => {
  test("tells the end of a job, signed so that the receiver can verify it with either secret", async () => {
    const { endedJob, deliver, urlOf } = await openBench();
    const server = await receive((response) => response.writeHead(204).end());
    const job = await endedJob("completed");
    expect(await deliver({ job_id: job.id, status: "completed" }, urlOf(server))).toEqual({
      result: { status: 204, duration_ms: expect.any(Number) as number },
    });
    const [{ headers, body }] = server.received as [Received];
    for (const secret of SECRETS) {
      expect(verifyWebhook({ headers, body, secret, now: NOW })).toMatchObject({
        id: DELIVERY_ID,
        sentAt: NOW,
        event: {
          type: "job.completed",
          timestamp: "2030-01-01T00:00:00.000Z",
          data: { id: job.id, type: "mail", queue: "post", status: "completed", result: { sent: true }, error: null, meta: { order: 7 } },
        },
      });
    }
    expect(headers).toMatchObject({ "content-type": "application/json", "user-agent": "millrace" });
    expect(body).not.toContain("ann@example.com");
  });

  test("tells the end of a flow with its counts, but not of one that was retried since", async () => {
    const { client, deliver, urlOf } = await openBench();
    const server = await receive((response) => response.end());
    const members = [
      { name: "a", type: "mail", payload: { to: "ann@example.com" } },
      { name: "b", type: "mail", after: "a" },
    ];
    const { id } = await client.flow(members, { key: "k", tags: ["t"], meta: { order: 7 }, webhookUrl: urlOf(server) });
    const mail = (): void => {
      throw new Discard("boom");
    };
    await client.drain({ mail });
    const deliveries = await client.list({ internal: true, queue: "~flows~webhooks" });
    expect(deliveries.jobs).toMatchObject([{ type: WEBHOOK_TYPE, webhookUrl: urlOf(server) }]);
    const end = (await client.get(deliveries.jobs[0]!.id))!;
    expect(end.payload).toEqual({ job_id: id, status: "failed" });
    await deliver(end.payload, urlOf(server), 0, end.queue);
    await client.flows.retry(id);
    await deliver(end.payload, urlOf(server), 0, end.queue);
    const [told, later] = server.received.map(({ body }) => JSON.parse(body) as unknown);
    expect(told).toEqual({
      type: "flow.failed",
      timestamp: expect.stringMatching(/Z$/) as string,
      data: {
        id,
        status: "failed",
        key: "k",
        members: 2,
        completed: 0,
        failed: 1,
        cancelled: 1,
        open: 0,
        stuck: { count: 0, names: [] },
        tags: ["t"],
        meta: { order: 7 },
        created_at: expect.stringMatching(/Z$/) as string,
        ended_at: expect.stringMatching(/Z$/) as string,
      },
    });
    expect(later).toEqual({ type: "flow.failed", timestamp: null, data: { id, status: "failed" } });
  });

  test("tells of a dead job what went wrong, but no stack", async () => {
    const { endedJob, deliver, urlOf } = await openBench();
    const server = await receive((response) => response.end());
    const job = await endedJob("dead");
    await deliver({ job_id: job.id, status: "dead" }, urlOf(server));
    const { type, data } = JSON.parse(server.received[0]!.body) as { type: string; data: Record<string, unknown> };
    expect(type).toBe("job.dead");
    expect(data).toMatchObject({ status: "dead", attempt: 1, error: { name: "Error", message: "boom", kind: "error" } });
    expect(server.received[0]!.body).not.toContain("stack");
  });

  test("goes to the address of the job when it has no copy of it", async () => {
    const { endedJob, deliver, urlOf } = await openBench();
    const server = await receive((response) => response.end());
    const job = await endedJob("pending", urlOf(server));
    expect(await deliver({ job_id: job.id, status: "completed" })).toHaveProperty("result");
    expect(server.received).toHaveLength(1);
  });

  test("of a job that is gone tells its id and how it ended", async () => {
    const { client, endedJob, deliver, urlOf } = await openBench();
    const server = await receive((response) => response.end());
    const { id } = await endedJob("completed");
    await client.remove(id);
    await deliver({ job_id: id, status: "completed" }, urlOf(server));
    const data = { id, status: "completed", queue: "post" };
    expect(JSON.parse(server.received[0]!.body)).toEqual({ type: "job.completed", timestamp: null, data });
  });

  test("of a job with a new life since tells the end that it is about, and nothing of the new life", async () => {
    const { endedJob, deliver, urlOf } = await openBench();
    const server = await receive((response) => response.end());
    const { id } = await endedJob("pending");
    await deliver({ job_id: id, status: "dead" }, urlOf(server));
    expect(JSON.parse(server.received[0]!.body)).toEqual({
      type: "job.dead",
      timestamp: null,
      data: { id, status: "dead", queue: "post" },
    });
  });

  test("without a secret has an id and a time, and no signature", async () => {
    const { deliver, urlOf } = await openBench({ secrets: undefined });
    const server = await receive((response) => response.end());
    await deliver({ job_id: DELIVERY_ID, status: "completed" }, urlOf(server));
    const { headers } = server.received[0]!;
    expect(headers).toMatchObject({ "webhook-id": DELIVERY_ID, "webhook-timestamp": String(NOW / 1000) });
    expect(headers["webhook-signature"]).toBeUndefined();
  });

  test("goes over TLS", async () => {
    const { deliver } = await openBench({ ca: CERTIFICATE });
    const server = await serveTls((_, response) => response.end());
    const end = await deliver({ job_id: DELIVERY_ID, status: "completed" }, `https://hooks.test:${server.port}/`);
    expect(end).toHaveProperty("result.status", 200);
  });
});

/** One attempt at a receiver that answers so. */
async function answered(
  status: number,
  headers: Record<string, string> = {},
  retryCount = 0,
  random = 0.5,
): Promise<End & { host: string }> {
  const { deliver, urlOf } = await openBench({ random: () => random });
  const server = await receive((response) => response.writeHead(status, headers).end("<script>"));
  const end = await deliver({ job_id: DELIVERY_ID, status: "completed" }, urlOf(server), retryCount);
  expect(server.received).toHaveLength(1);
  return { ...end, host: `hooks.test:${server.port}` };
}

describe("what the receiver answers", () => {
  test.each([200, 201, 202, 204, 299])("%i is delivered", async (status) => {
    expect(await answered(status)).toHaveProperty("result.status", status);
  });

  test.each([301, 302, 307, 400, 401, 404, 429, 500, 502, 503])("%i is tried again", async (status) => {
    const end = await answered(status, { location: "http://169.254.169.254/" });
    expect(end).toMatchObject({ control: { kind: "retry-after", delayMs: 10_000 }, error: { name: "DeliveryFailed" } });
    const { message } = (end as unknown as { error: Error }).error;
    expect(message).toContain(`${end.host} answered ${status}`);
    // Neither what the receiver wrote nor the secret in the path is kept.
    expect(message).not.toMatch(/script|T0P5ECRET/);
  });

  test("410 ends it for good", async () => {
    expect(await answered(410)).toMatchObject({
      control: { kind: "discard" },
      error: { message: expect.stringContaining("wants no more deliveries") as string },
    });
  });

  test.each([
    [429, "120", 120_000],
    [503, "0", 1000],
    [503, "Tue, 01 Jan 2030 00:01:00 GMT", 60_000],
    [503, "Mon, 01 Jan 2029 00:00:00 GMT", 1000],
    [429, "99999999", 86_400_000],
    [429, "soon", 10_000],
    [500, "120", 10_000],
  ])("%i with Retry-After %s is tried again after %i ms", async (status, retryAfter, delayMs) => {
    expect(await answered(status, { "retry-after": retryAfter })).toMatchObject({ control: { kind: "retry-after", delayMs } });
  });

  test.each([
    [0, 0.5, 10_000],
    [0, 0, 7500],
    [1, 0.5, 20_000],
    [8, 0.5, 2_560_000],
    [9, 0.5, 3_600_000],
    [99, 0.5, 3_600_000],
    [99, 0, 2_700_000],
  ])("an error after %i retries, with a chance of %d, is tried again after %i ms", async (retries, random, delayMs) => {
    expect(await answered(500, {}, retries, random)).toMatchObject({ control: { kind: "retry-after", delayMs } });
  });

  test("with a body that breaks off does not matter", async () => {
    const { deliver, urlOf } = await openBench();
    const server = await serveRaw((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nok"));
    expect(await deliver({ job_id: DELIVERY_ID, status: "completed" }, urlOf(server))).toHaveProperty("result.status", 200);
  });

  test("nothing, because it hung up, is tried again, and the reason is known", async () => {
    const { deliver, urlOf } = await openBench();
    const server = await serveRaw((socket) => socket.destroy());
    expect(await deliver({ job_id: DELIVERY_ID, status: "completed" }, urlOf(server))).toMatchObject({
      control: { kind: "retry-after", delayMs: 10_000 },
      error: {
        name: "DeliveryFailed",
        message: expect.stringMatching(/^the request to .* failed: /) as string,
        cause: { name: "Unreachable" },
      },
    });
  });
});

describe("a delivery that cannot be made", () => {
  test.each(["http://169.254.169.254/latest/meta-data/", "http://127.1:9/", "http://[::1]/", "http://localhost./", "http://10.0.0.1/"])(
    "because %s is closed ends for good",
    async (url) => {
      const { deliver } = await openBench({ allow: [] });
      const end = await deliver({ job_id: DELIVERY_ID, status: "completed" }, url);
      expect(end).toMatchObject({ control: { kind: "discard" }, error: { name: "Blocked" } });
    },
  );

  test("because its name leads inside ends for good, and nothing is sent", async () => {
    const { deliver, urlOf } = await openBench({ allow: [] });
    const server = await receive((response) => response.end());
    const end = await deliver({ job_id: DELIVERY_ID, status: "completed" }, urlOf(server));
    expect(end).toMatchObject({
      error: { name: "Blocked", message: expect.stringMatching(/points to a loopback address \(.* is 127\.0\.0\.1\)/) as string },
    });
    expect(server.connections()).toBe(0);
  });

  test.each([null, {}, { job_id: 7, status: "dead" }, { job_id: "x", status: "running" }, "text"])(
    "because its payload is %j ends for good",
    async (payload) => {
      const { deliver } = await openBench();
      const error = { message: expect.stringContaining("{ job_id, status }") as string };
      expect(await deliver(payload)).toMatchObject({ control: { kind: "discard" }, error });
    },
  );

  test("because there is no URL ends for good", async () => {
    const { endedJob, deliver } = await openBench();
    const end = await deliver({ job_id: (await endedJob("completed")).id, status: "completed" });
    expect(end).toMatchObject({
      control: { kind: "discard" },
      error: { message: expect.stringContaining("no URL to deliver to") as string },
    });
  });
});

describe("the handlers", () => {
  test.each([
    [{ secrets: "a,,b" }, /^webhookSecret must be one or more secrets/],
    [{ secrets: ["", "b"] }, /^webhookSecret must be one or more secrets/],
    [{ allow: ["10.0.0.0/64"] }, /^allow must be/],
  ])("are not made with %j", async (options, message) => {
    const client = await createTestClient();
    onTestFinished(() => client.close());
    expect(() => webhookHandlers({ client, ...options })).toThrow(message);
  });
});
