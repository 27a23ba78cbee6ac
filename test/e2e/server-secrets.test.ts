/** W03, W16, W21: a server that knows secrets, and was told some, shows none of them: neither in answers nor in its log, its store or its title. */
import { execFileSync } from "node:child_process";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Route } from "../../src/http/contract/route.ts";
import { type RouteName, ROUTES, splitName } from "../../src/http/contract.ts";
import { signLink } from "../../src/core/signal-links.ts";
import { freshSchema, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

const KEY = "hush-api-key-0123456789";
const WRONG_KEY = "hush-wrong-key-0123456789";
const PASSWORD = "hush-password-of-the-store";
const WEBHOOK_SECRET = "hush-webhook-secret-0123456789";
const SIGNAL_SECRET = "hush-signal-secret-0123456789";
const PAYLOAD = "hush-in-the-payload";

function withPassword(url: string): string {
  const parsed = new URL(url);
  parsed.password = PASSWORD;
  return parsed.href;
}

/** All routes that only look and answer at once. */
const LOOKS = (Object.keys(ROUTES) as RouteName[]).filter((name) => {
  const route: Route = ROUTES[name];
  return name.startsWith("GET ") && route.answers[200] !== undefined && route.answers[200].mediaType !== "text/event-stream";
});

test("W03, W16, W21: no secret is in an answer, in the log, in the title of the process or (but for payloads) in the store", async () => {
  const store = freshSchema(postgres.url);
  const env = {
    MILLRACE_URL: withPassword(store),
    API_KEY: `ops:read+enqueue+admin:${KEY}`,
    WEBHOOK_SECRET,
    SIGNAL_SECRET,
    PORT: "0",
    LOG_LEVEL: "trace",
  };
  const cli = startCli(["server"], { cwd: temporaryFolder(), env });
  await cli.said("/docs\n");
  const url = /API on (\S+)\/api\/v1/.exec(cli.output.stderr)![1]!;
  const headers = { "x-api-key": KEY, "content-type": "application/json" };

  const body = JSON.stringify({ type: "task", payload: { card: PAYLOAD }, webhook_url: "https://app.example.com/" });
  const made = await fetch(`${url}/api/v1/jobs`, { method: "POST", headers, body });
  const { id } = (await made.json()) as { id: string };
  expect(made.status).toBe(201);
  // W05: in the address it is no key, and it is not written down.
  expect((await fetch(`${url}/api/v1/jobs?api_key=${KEY}`)).status).toBe(401);
  expect((await fetch(`${url}/api/v1/jobs`, { headers: { "x-api-key": WRONG_KEY } })).status).toBe(401);
  expect((await fetch(`${url}/api/v1/jobs`, { method: "POST", headers, body: `{"type": "${PAYLOAD}"` })).status).toBe(400);

  // A link is a secret of whoever got it.
  const link = signLink({ id, name: "approval", payload: null, expiresAt: Date.now() + 60_000 }, SIGNAL_SECRET);
  for (const method of ["GET", "POST"]) expect((await fetch(`${url}/signal/${link}`, { method })).status).toBe(200);

  const answers: string[] = [];
  for (const name of LOOKS) {
    const path = splitName(name)
      .path.replace("{id}", id)
      .replace(/\{\w+\}/, "name");
    answers.push(await (await fetch(url + path, { headers: { "x-api-key": KEY } })).text());
  }
  const shown = answers.join("\n");
  for (const secret of [KEY, WRONG_KEY, PASSWORD, WEBHOOK_SECRET, SIGNAL_SECRET, link]) expect(shown).not.toContain(secret);
  expect(shown).toContain(PAYLOAD);

  const title = execFileSync("ps", ["-o", "args=", "-p", String(cli.child.pid)], { encoding: "utf8" });
  await cli.said("/api/v1/jobs");
  cli.child.kill("SIGTERM");
  const { stdout, stderr } = await cli.ended;
  expect(stdout).toContain('"key":"ops"');
  expect(stderr).toContain("***");
  expect(stderr).toContain(`links of ctx.signalUrl lead to ${url}: set PUBLIC_URL if`);
  for (const secret of [KEY, WRONG_KEY, PASSWORD, WEBHOOK_SECRET, SIGNAL_SECRET, PAYLOAD, link])
    expect(stdout + stderr + title).not.toContain(secret);

  const dump = await dumpOf(store);
  expect(dump).not.toMatch(/hush-(api|wrong|password|webhook|signal)/);
  expect(dump).not.toContain(link);
});

/** Every row of every table of the schema, as text. */
async function dumpOf(url: string): Promise<string> {
  const client = new pg.Client(url.replace(/[?].*$/, ""));
  await client.connect();
  try {
    const schema = new URL(url).searchParams.get("schema") ?? "millrace";
    const tables = await client.query<{ tablename: string }>("select tablename from pg_tables where schemaname = $1", [schema]);
    let text = "";
    for (const { tablename } of tables.rows) text += JSON.stringify((await client.query(`select * from "${schema}"."${tablename}"`)).rows);
    return text;
  } finally {
    await client.end();
  }
}
