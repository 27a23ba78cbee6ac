/**
 * The requests of the source designs, as they stand there, against `millrace start` with the example handlers: each one that makes a job ends
 * in a finished job. What a design shows of an answer must be in ours.
 */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningCli, runCli, startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const HANDLERS = fileURLToPath(new URL("../../examples/handlers.ts", import.meta.url));
/** The key that the fourth design sends; the others send none, and it does not matter where no key is set. */
const SENT_KEY = { "X-API-Key": "your-secret-api-key" };

interface Asked {
  readonly name: string;
  readonly method: "POST" | "GET" | "DELETE";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface MakesJob extends Asked {
  /** What the design's own answer has. */
  readonly answers: { readonly status: number; readonly body: object };
  /** What the job has when it has ended. */
  readonly ended: object;
}

const JSON_BODY = { "Content-Type": "application/json" };
const EMAIL = { to: "user@example.com", subject: "Welcome!", body: "Hello from GoQueue" };

const JOBS: readonly MakesJob[] = [
  {
    name: "the in-memory queue: a payload that is a text, and no type",
    method: "POST",
    path: "/jobs",
    headers: JSON_BODY,
    body: { payload: "process-order-42", idempotency_key: "order-42", priority: 5, max_retries: 3 },
    answers: { status: 202, body: { status: "pending" } },
    ended: { type: "default", payload: "process-order-42", priority: 5, max_retries: 3, idempotency_key: "order-42" },
  },
  {
    name: "PostgreSQL and Redis: a time that has passed, and a key",
    method: "POST",
    path: "/api/v1/jobs",
    headers: JSON_BODY,
    body: {
      type: "send_email",
      payload: { to: "user@example.com", subject: "Welcome", body: "Hello!" },
      max_retries: 3,
      scheduled_at: "2024-01-01T00:00:00Z",
      idempotency_key: "unique-key-123",
    },
    answers: { status: 201, body: { type: "send_email", payload: { to: "user@example.com", subject: "Welcome", body: "Hello!" } } },
    ended: { type: "send_email", retry_count: 0, max_retries: 3, idempotency_key: "unique-key-123" },
  },
  {
    name: "Redis, dashboard and command line: with its key header",
    method: "POST",
    path: "/api/v1/jobs",
    headers: { ...JSON_BODY, ...SENT_KEY },
    body: { type: "email:send", payload: EMAIL, priority: "high", max_retries: 5 },
    answers: { status: 201, body: { type: "email:send", status: "pending", priority: "high" } },
    ended: { type: "email:send", priority: "high", retry_count: 0, result: { status: "sent" } },
  },
  {
    name: "the same with a timeout and a delay",
    method: "POST",
    path: "/api/v1/jobs",
    headers: JSON_BODY,
    body: { type: "email:send", payload: EMAIL, priority: "high", max_retries: 5, timeout: "30s", delay: "5m" },
    answers: { status: 201, body: { type: "email:send", priority: "high" } },
    ended: { type: "email:send", result: { status: "sent" } },
  },
  {
    name: "its other type",
    method: "POST",
    path: "/api/v1/jobs",
    headers: JSON_BODY,
    body: { type: "image:resize", payload: { url: "https://example.com/cat.jpg", width: 320 } },
    answers: { status: 201, body: { type: "image:resize", status: "pending" } },
    ended: { type: "image:resize" },
  },
];

const LOOKS: readonly (Asked & { readonly shows: object })[] = [
  { name: "the dead letters", method: "GET", path: "/dlq", shows: { jobs: expect.any(Array) as unknown } },
  {
    name: "a page of jobs",
    method: "GET",
    path: "/api/v1/jobs?status=running&type=email:send&page=1&limit=20",
    shows: { jobs: expect.any(Array) as unknown, total: expect.any(Number) as unknown, page: 1, limit: 20 },
  },
  {
    name: "the figures",
    method: "GET",
    path: "/api/v1/stats",
    shows: {
      queues: { critical: 0, high: 0, default: 0, low: 0 },
      total_processed: JOBS.length,
      total_failed: 0,
      dead_count: 0,
      active_workers: expect.any(Number) as unknown,
      jobs_today: { processed: JOBS.length, failed: 0 },
    },
  },
  { name: "the purge of dead letters", method: "DELETE", path: "/api/v1/dead", shows: { message: "Purged 0 dead jobs" } },
  { name: "health", method: "GET", path: "/health", shows: { status: "ok" } },
];

describe("the source designs' own requests", () => {
  let cli: RunningCli;
  let url: string;
  const tidyUps: (() => void)[] = [];
  beforeAll(async () => {
    const cwd = temporaryFolder((tidyUp) => void tidyUps.push(tidyUp));
    cli = startCli(["start", "--handlers", HANDLERS, "--port", "0"], { cwd, env: { LOG_LEVEL: "warn" } }, true);
    await cli.said("/docs\n");
    url = /API on (\S+)\/api\/v1/.exec(cli.output.stderr)![1]!;
  });
  afterAll(() => {
    cli.child.kill("SIGKILL");
    for (const tidyUp of tidyUps) tidyUp();
  });

  async function ask({ method, path, headers, body }: Omit<Asked, "name">): Promise<{ status: number; body: Record<string, unknown> }> {
    const init = { method, ...(headers === undefined ? {} : { headers }), ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(url + path, init);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  test.for(JOBS)("$name", async ({ answers, ended, ...request }) => {
    const made = await ask(request);
    expect(made).toMatchObject(answers);
    expect(made.body).not.toHaveProperty("notice");
    const id = String(made.body["id"] ?? made.body["job_id"]);
    // What the design delays is started at once, by hand: five minutes are long for a test.
    if (made.body["status"] === "scheduled") {
      expect((await ask({ method: "POST", path: `/api/v1/jobs/${id}/retry?now=true` })).status).toBe(200);
    }
    const { body: job } = await ask({ method: "GET", path: `/api/v1/jobs/${id}?wait=30s` });
    expect(job).toMatchObject({ ...ended, status: "completed", error: null });
  });

  test("a known key gets the job that has it, from each design as it says", async () => {
    const [first, second] = JOBS as [MakesJob, MakesJob];
    expect(await ask(first)).toMatchObject({ status: 409, body: { status: "completed", job: { payload: "process-order-42" } } });
    expect(await ask(second)).toMatchObject({ status: 200, body: { type: "send_email", status: "completed" } });
    const other = { payload: { to: "another@example.com" } };
    const conflict = await ask({ ...second, body: { ...(second.body as object), ...other } });
    expect(conflict).toMatchObject({ status: 409, body: { code: "key_conflict", job: { type: "send_email", status: "completed" } } });
  });

  test.for(LOOKS)("$name", async ({ shows, ...request }) => {
    expect(await ask(request)).toMatchObject({ status: 200, body: shows });
  });

  test("the metrics", async () => {
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("millrace_queue_jobs");
  });

  test("cancel and retry by hand answer as they say", async () => {
    const { body: made } = await ask({ ...JOBS[3]!, body: { ...(JOBS[3]!.body as object), delay: "1h" } });
    const path = `/api/v1/jobs/${String(made["id"])}`;
    expect(await ask({ method: "DELETE", path })).toMatchObject({ status: 200, body: { message: "Job cancelled" } });
    expect(await ask({ method: "POST", path: `${path}/retry` })).toMatchObject({
      status: 200,
      body: { message: "Job re-enqueued", status: "pending" },
    });
    expect(await ask({ method: "POST", path: `${path}/cancel` })).toMatchObject({ body: { job_id: made["id"] } });
  });

  test("the command line's own line", async () => {
    const args = ["enqueue", "--type", "email:send", "--payload", '{"to":"a@b.com"}', "--priority", "high", "--wait", "--url", url];
    expect((await runCli(args, { cwd: temporaryFolder() })).code).toBe(0);
  });

  test("a type without a handler is told of in the answer", async () => {
    const made = await ask({ method: "POST", path: "/api/v1/jobs", headers: JSON_BODY, body: { type: "nobody:handles" } });
    expect(made).toMatchObject({
      status: 201,
      body: { notice: expect.stringContaining("no live worker handles type nobody:handles") as string },
    });
    const alias = await ask({ method: "POST", path: "/jobs", headers: JSON_BODY, body: { type: "nobody:handles", payload: "x" } });
    expect(alias).toMatchObject({ status: 202, body: { notice: expect.stringContaining("nobody:handles") as string } });
    expect(cli.output.stderr).toContain("jobs of other types wait");
  });

  test("the root leads to the dashboard", async () => {
    const answer = await fetch(`${url}/`, { redirect: "manual" });
    expect([answer.status, new URL(answer.headers.get("location")!, url).pathname]).toEqual([302, "/dashboard"]);
  });
});
