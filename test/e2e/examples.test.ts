import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connect } from "../../src/connect.ts";
import { freePort } from "../servers/free-port.ts";
import { startPostgres } from "../servers/postgres.ts";
import { catchMail } from "./mail-catcher.ts";
import { startCli } from "./run-cli.ts";
import { complaintsOf, startProgram, temporaryFolder } from "./run-program.ts";

const folder = new URL("../../examples/", import.meta.url);

/** What each program must have said by its end. */
const SAYS: Record<string, string> = {
  "cron-report.ts": "0 done, 0 failed, 0 to look at",
  "demo.ts": "It is completed now",
  "email.ts": "ann@example.com: completed",
  "image-resize.ts": "sunset-640.webp: 640 × 360, webp",
  "typed-jobs.ts": "refused: invalid_input in payload.to",
  "retries.ts": "hopeless: dead after 1 attempts",
  "transaction.ts": "1 job for 1 order",
  "schedules.ts": "the schedule made a job",
  "limits.ts": "acme waited for one job at most: true",
  "flows.ts": "imported customers.csv and orders.csv",
  "several-queues.ts": "upload 3: ",
  "shutdown.ts": "finished all the same",
  "testing.ts": "completed: 1",
};

/** Not run alone: what a server is started with (serve.test.ts does), a route, and those that need a server. Below are tests for them. */
const NOT_ALONE = ["handlers.ts", "next-route.ts", "drizzle.ts", "webhook-receiver.ts"];

const programs = readdirSync(folder).filter((name) => name.endsWith(".ts"));

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, folder));
}

/** Runs an example to its end, and answers what it said. */
async function run(name: string, env: Readonly<Record<string, string>>): Promise<string> {
  for (const [variable, value] of Object.entries(env)) vi.stubEnv(variable, value);
  const program = startProgram(pathOf(name), [], { cwd: temporaryFolder() });
  const { code } = await program.ended;
  expect({ code, stderr: complaintsOf(program) }).toEqual({ code: 0, stderr: "" });
  return program.output.stdout;
}

describe.concurrent("every example runs to its end by itself", () => {
  test.for(programs.filter((name) => !NOT_ALONE.includes(name)))("%s", async (name, { onTestFinished: atTheEnd }) => {
    const program = startProgram(pathOf(name), [], { cwd: temporaryFolder(atTheEnd), atTheEnd });
    const { code } = await program.ended;
    expect({ code, stderr: complaintsOf(program) }).toEqual({ code: 0, stderr: "" });
    expect(program.output.stdout).toContain(SAYS[name]);
  });
});

describe("with what it needs", () => {
  test("email.ts hands the mail to a mail server, once, and gives up on a mailbox that is not there", async () => {
    const catcher = await catchMail();
    onTestFinished(() => catcher.close());
    const said = await run("email.ts", { SMTP_URL: catcher.url });
    expect(said).toContain("clicked twice, one job: true");
    expect(said).toContain("ann@example.com: completed");
    expect(said).toMatch(/nobody@example\.com: dead .*no such mailbox/);
    expect(catcher.mails.map(({ to }) => to)).toEqual([["ann@example.com"]]);
    expect(catcher.mails[0]!.text).toMatch(/^Message-ID: <[0-9a-f-]+@shop\.example\.com>$/m);
  });

  test("drizzle.ts keeps order and job together in PostgreSQL", async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const { url } = await postgres.database();
    const said = await run("drizzle.ts", { DATABASE_URL: url });
    expect(said).toContain("a second mill wheel: the card was declined");
    expect(said).toContain("1 order, 1 job");
    expect(said).toMatch(/completed .*state: 'shipped'/s);
  });

  test("webhook-receiver.ts is told by a server, and refuses what is not signed", async () => {
    const secret = "a-secret-that-is-long-enough-for-a-test";
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}`;
    const server = startCli(["start", "--handlers", pathOf("handlers.ts")], {
      cwd: temporaryFolder(),
      env: { PORT: port, WEBHOOK_SECRET: secret, WEBHOOK_ALLOW: "127.0.0.1", LOG_LEVEL: "error" },
    });
    await server.said(`${url}/api/v1`);
    const said = await run("webhook-receiver.ts", { MILLRACE_URL: url, WEBHOOK_SECRET: secret });
    expect(said).toContain("a forged delivery is answered with 400");
    expect(said).toMatch(/received: .*status: 'completed'/s);
  });

  test("next-route.ts takes an order, says how far it is, and refuses what is wrong", async () => {
    const url = `sqlite:${temporaryFolder()}/next.db`;
    vi.stubEnv("MILLRACE_URL", url);
    const { GET, POST } = await import("../../examples/next-route.ts");
    const kept = globalThis as typeof globalThis & { millrace?: ReturnType<typeof connect> };
    onTestFinished(async () => (await kept.millrace)?.close());
    const place = "https://shop.example.com/api/exports";
    const post = (body: string, headers: Record<string, string> = {}): Promise<Response> =>
      POST(new Request(place, { method: "POST", body, headers }));

    const taken = await post('{"month":"2026-03-01"}', { "Idempotency-Key": "march" });
    expect(taken.status).toBe(202);
    const { id } = (await taken.json()) as { id: string };
    expect(taken.headers.get("location")).toBe(`/api/exports?id=${id}`);
    expect(await (await post('{"month":"2026-03-01"}', { "Idempotency-Key": "march" })).json()).toMatchObject({ id });
    expect((await post('{"month":"2026-04-01"}', { "Idempotency-Key": "march" })).status).toBe(409);
    expect((await post('{"month":"next"}')).status).toBe(422);
    expect((await post("month=3")).status).toBe(400);

    const client = await connect(url);
    onTestFinished(() => client.close());
    client.work({ "orders:export": async ({ month }: { month: string }) => ({ file: `${month}.csv` }) });
    await client.wait(id);
    const shown = await GET(new Request(`${place}?id=${id}`));
    expect(await shown.json()).toMatchObject({ status: "completed", result: { file: "2026-03-01.csv" } });
    const another = await client.enqueue("secret:type", null);
    expect((await GET(new Request(`${place}?id=${another.id}`))).status).toBe(404);
    expect((await GET(new Request(place))).status).toBe(422);
  });
});

test("every example that is not run alone has its test, and every other its last word", () => {
  expect(programs.filter((name) => !NOT_ALONE.includes(name)).sort()).toEqual(Object.keys(SAYS).sort());
  expect(NOT_ALONE.filter((name) => !programs.includes(name))).toEqual([]);
});
