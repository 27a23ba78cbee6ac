import { expect, onTestFinished, test } from "vitest";
import { createJob, JOB_DEFAULTS, readJobOptions } from "../../../src/core/job-options.ts";
import { createServer } from "../../../src/http/server.ts";
import type { RouteName } from "../../../src/http/contract.ts";
import { Metrics } from "../../../src/observe/metrics.ts";
import { START, openClient } from "../client/open-client.ts";
import { type Asked, askRoute, type Got } from "./open-api.ts";

/** No request makes a blocked job yet, so it is put into the store by hand. */
test("a blocked job is shown by every route, counted, explained and cancelled", async () => {
  const { client, store, clock } = await openClient();
  const server = createServer(client, {});
  onTestFinished(() => server.drain());
  const send = (path: string, init: RequestInit): Promise<Response> => {
    const request = new Request(`http://localhost${path}`, init);
    request.headers.set("host", "localhost");
    return Promise.resolve(server.fetch(request, { incoming: { socket: { remoteAddress: "127.0.0.1" } } }));
  };
  const ask = (name: RouteName, asked: Asked = {}): Promise<Got<unknown>> => askRoute(send, name, asked);
  const id = "0190d2f0-7b1a-7abc-8def-0123456789ab";
  const made = createJob(id, "mail", { to: "ada" }, readJobOptions({ queue: "post" }, JOB_DEFAULTS, START));
  await store.insert([{ ...made, blocked: true }]);

  expect((await ask("GET /api/v1/jobs/{id}", { params: { id } })).body).toMatchObject({ id, status: "blocked", scheduled_at: null });
  expect((await ask("GET /api/v1/jobs", { query: "status=blocked" })).body).toMatchObject({ jobs: [{ id, status: "blocked" }] });
  expect((await ask("GET /api/v1/stats")).body).toMatchObject({ counts: { blocked: 1, pending: 0 } });
  expect((await ask("GET /api/v1/queues")).body).toMatchObject({
    queues: [{ name: "post", counts: { blocked: 1 }, waiting: { default: 0 }, oldest_waiting_ms: null }],
  });
  expect((await ask("GET /api/v1/jobs/{id}/explain", { params: { id } })).body).toMatchObject({
    reasons: [{ code: "blocked" }, { code: "no_worker" }],
  });
  const metrics = new Metrics({ source: client, clock, version: "1.2.3" });
  onTestFinished(() => metrics.stop());
  expect(await metrics.text()).toContain('millrace_queue_jobs{queue="post",status="blocked"} 1');
  expect((await ask("POST /api/v1/jobs/{id}/cancel", { params: { id } })).body).toMatchObject({ status: "cancelled" });
  expect((await ask("GET /api/v1/jobs", { query: "status=blocked" })).body).toMatchObject({ jobs: [] });
});
