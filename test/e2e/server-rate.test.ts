/** RATE_LIMIT over several servers on one store, on each engine that can have several. */
import { describe, expect, onTestFinished, test } from "vitest";
import { SETTING_NAMES } from "../../src/config.ts";
import { readConfig } from "../../src/config/read-config.ts";
import { serve, type Served } from "../../src/serve.ts";
import { storesOfThisFile } from "./stores-of-this-file.ts";

const ENGINES = storesOfThisFile();

async function openServer(store: string): Promise<Served> {
  const env = { MILLRACE_URL: store, API_KEY: "one,two", PORT: "0", RATE_LIMIT: "100/h", LOG_LEVEL: "silent", DASHBOARD_ENABLED: "false" };
  const { config } = readConfig({ env }, SETTING_NAMES);
  const served = await serve(config, { version: "test" });
  onTestFinished(() => served.stop());
  return served;
}

describe.each(ENGINES)("on %s", (_, url) => {
  test("RATE_LIMIT is one limit for a caller, however many servers it goes to, and another caller's is its own", async () => {
    const store = url();
    const servers = [await openServer(store), await openServer(store), await openServer(store)];
    const ask = (index: number, key: string): Promise<Response> =>
      fetch(`${servers[index % servers.length]!.url}/api/v1/queues`, { headers: { "x-api-key": key } });

    const startedAt = performance.now();
    const answers: Response[] = [];
    for (let round = 0; round < 25; round++)
      answers.push(...(await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((index) => ask(index, "one")))));
    const passed = answers.filter(({ status }) => status === 200).length;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    // One more comes back every 36 seconds, which a busy machine may take.
    expect(passed).toBeLessThanOrEqual(100 + Math.ceil((performance.now() - startedAt) / 36_000));
    expect(passed).toBeGreaterThan(80);

    const refused = answers.findLast(({ status }) => status === 429)!;
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ code: "rate_limited", retry_after_ms: expect.any(Number) as number });
    for (let index = 0; index < 3; index++) expect((await ask(index, "two")).status).toBe(200);
    for (const server of servers) expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });
});
