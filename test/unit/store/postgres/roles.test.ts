import { readFileSync } from "node:fs";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../../../src/connect.ts";
import { serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

/** The ```sql blocks of docs/engines.md, in their order. */
function documentedStatements(): string[] {
  const page = readFileSync(new URL("../../../../docs/engines.md", import.meta.url), "utf8");
  return [...page.matchAll(/^```sql\n(.*?)^```$/gms)].map((match) => match[1]!);
}

async function runAsOwner(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text);
  await client.end();
}

/** The page leaves out passwords; a server that was given to the tests may ask for one. */
const PASSWORD = "secret";

function as(user: string, url: string): string {
  const parsed = new URL(url);
  parsed.username = user;
  parsed.password = PASSWORD;
  return parsed.href;
}

/** A database with the role `app`, which owns the schema, and what the page says for a role that only adds jobs. */
async function databaseOfApp(): Promise<{ url: string; forProducer: string }> {
  const { url, drop } = await server().database();
  onTestFinished(async () => {
    await drop();
    await runAsOwner(server().url, "drop role app; drop role producer");
  });
  const [forOwner, forProducer] = documentedStatements();
  await runAsOwner(url, `${forOwner!} alter role app password '${PASSWORD}'`);
  return { url, forProducer: forProducer! };
}

test("a role that may not make functions is told what to run when those of its version are missing", async () => {
  const { url, forProducer } = await databaseOfApp();
  await (await connect(as("app", url))).close();
  await runAsOwner(url, `${forProducer} alter role producer password '${PASSWORD}'`);
  await runAsOwner(url, `delete from millrace.meta where name like 'functions%'`);
  await expect(connect(as("producer", url))).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(/permission denied.*Run "millrace migrate" with the URL of the role that owns it/) as string,
  });
  await (await connect(as("app", url))).close();
  await (await connect(as("producer", url))).close();
});

test("W32: roles made as documented can do what the page says", async () => {
  const { url, forProducer } = await databaseOfApp();

  const owner = await connect(as("app", url));
  await runAsOwner(url, `${forProducer} alter role producer password '${PASSWORD}'`);
  const producer = await connect(as("producer", url));
  const worker = owner.work({ t: async () => 1 });
  const { id } = await producer.enqueue("t", 1, { idempotencyKey: "k" });
  expect((await producer.wait(id, { timeout: "20s" }))?.status).toBe("completed");
  expect((await producer.stats()).totalProcessed).toBe(1);

  await worker.stop();
  await producer.close();
  await owner.close();
});
