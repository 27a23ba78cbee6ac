/** What a server says of itself from outside, as its parts are put together by `serve`. */
import { describe, expect, onTestFinished, test } from "vitest";
import { SETTING_NAMES } from "../../src/config.ts";
import { readConfig } from "../../src/config/read-config.ts";
import type { Handlers } from "../../src/index.ts";
import { type Served, serve } from "../../src/serve.ts";
import { until } from "../faults/until.ts";
import { type ReadFamily, readPrometheusText } from "../unit/observe/prometheus-text.ts";

async function serving(handlers: Handlers | undefined, env: Record<string, string> = {}): Promise<Served> {
  const own = { MILLRACE_URL: "memory:", PORT: "0", ENVIRONMENT: "development", DASHBOARD_ENABLED: "false", LOG_LEVEL: "silent" };
  const { config } = readConfig({ env: { ...own, ...env } }, SETTING_NAMES);
  const served = await serve(config, { version: "0.0.0", handlers });
  onTestFinished(() => served.stop());
  return served;
}

const readiness = async ({ url }: Served): Promise<number> => (await fetch(`${url}/health/ready`)).status;

async function figures({ url }: Served): Promise<Map<string, ReadFamily>> {
  return readPrometheusText(await (await fetch(`${url}/metrics`)).text());
}

function sum(families: Map<string, ReadFamily>, name: string): number {
  return families.get(name)!.samples.reduce((total, sample) => total + sample.value, 0);
}

describe("a server", () => {
  test("is not ready while its only worker has stopped claiming, and says so in its figures", async () => {
    const release = Promise.withResolvers<void>();
    const served = await serving({ stuck: () => release.promise }, { WORKER_CONCURRENCY: "1", WORKER_SHUTDOWN_TIMEOUT: "0s" });
    expect(await readiness(served)).toBe(200);
    expect(sum(await figures(served), "millrace_ready")).toBe(1);
    await served.client.enqueue("stuck", null, { timeout: 10, maxRetries: 0 });
    await until(async () => (await readiness(served)) === 503);
    expect(sum(await figures(served), "millrace_ready")).toBe(0);
    release.resolve();
    await until(async () => (await readiness(served)) === 200);
  });

  test("does not count its own workers", async () => {
    const served = await serving(undefined);
    await until(async () => (await served.client.workers({ internal: true })).length === 3);
    expect(await served.client.workers()).toEqual([]);
    const stats = (await (await fetch(`${served.url}/api/v1/stats`)).json()) as { active_workers: number };
    expect(stats.active_workers).toBe(0);
    const families = await figures(served);
    expect(sum(families, "millrace_workers")).toBe(0);
    expect(sum(families, "millrace_worker_slots")).toBe(0);
  });
});
