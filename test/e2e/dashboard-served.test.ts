// The dashboard as `millrace server` serves it: where it says that it is, who may look, and when the server refuses to start.

import { beforeAll, describe, expect, test } from "vitest";
import { buildDashboard } from "../../scripts/build-dashboard.ts";
import { runCli, type RunningCli, startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

beforeAll(() => buildDashboard());

const SETTINGS = { MILLRACE_URL: "memory:", PORT: "0", LOG_LEVEL: "silent" };

/** Starts a server, and answers with the dashboard's address as it was said. */
async function serve(env: Record<string, string> = {}): Promise<{ cli: RunningCli; page: string }> {
  const cli = startCli(["server"], { cwd: temporaryFolder(), env: { ...SETTINGS, ...env } });
  await cli.said("/docs\n");
  return { cli, page: /dashboard on (\S+)\n/.exec(cli.output.stderr)?.[1] ?? "" };
}

test("its address is said at the start, and leads to the page with all that it loads", async () => {
  const { page } = await serve();
  expect(page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/dashboard$/);
  const html = await (await fetch(page)).text();
  const files = [...html.matchAll(/(?:src|href)="\.\/([^"]+\.\w+)"/g)].map(([, file]) => file);
  expect(files.length).toBeGreaterThan(3);
  for (const file of files) expect((await fetch(`${page}/${file}`)).status).toBe(200);
});

test("it can be switched off", async () => {
  const { cli, page } = await serve({ DASHBOARD_ENABLED: "false" });
  expect(page).toBe("");
  const url = /API on (\S+)\/api\/v1/.exec(cli.output.stderr)?.[1];
  expect((await fetch(`${url}/dashboard/`)).status).toBe(404);
});

test("a session of one server is known to another with the same settings", async () => {
  const env = { API_KEY: "k", DASHBOARD_PASSWORD: "the mill", DASHBOARD_VIEWER_PASSWORD: "the pond" };
  const [one, other] = await Promise.all([serve(env), serve(env)]);
  const login = await fetch(`${one.page}/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ username: "viewer", password: "the pond" }),
  });
  const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
  const session = await fetch(`${other.page}/session`, { headers: { cookie } });
  expect(await session.json()).toEqual({ user: "viewer", role: "viewer", sign_in: "password" });
});

describe("W01: a server that anybody could sign in to does not start", () => {
  test.for([
    [{ HOST: "0.0.0.0" }, "set API_KEY and DASHBOARD_PASSWORD, or listen on 127.0.0.1"],
    [{ HOST: "0.0.0.0", API_KEY: "k" }, "set DASHBOARD_PASSWORD, or DASHBOARD_ENABLED=false"],
    [{ HOST: "0.0.0.0", API_KEY: "k", DASHBOARD_PASSWORD: "admin", ENVIRONMENT: "development" }, "too easy to guess"],
    [{ DASHBOARD_PASSWORD: "admin" }, "too easy to guess"],
  ] as const)("%j", async ([env, why]) => {
    const { code, stderr } = await runCli(["server"], { cwd: temporaryFolder(), env: { ...SETTINGS, ...env } });
    expect(code).toBe(2);
    expect(stderr).toContain(why);
  });
});

test("admin with the password admin works in development, on this machine", async () => {
  const body = JSON.stringify({ username: "admin", password: "admin" });
  const login = async (env: Record<string, string>): Promise<number> => {
    const { page } = await serve({ API_KEY: "k", ...env });
    return (await fetch(`${page}/login`, { method: "POST", headers: { "content-type": "application/json" }, body })).status;
  };
  expect(await login({ ENVIRONMENT: "development" })).toBe(204);
  expect(await login({})).toBe(401);
});
