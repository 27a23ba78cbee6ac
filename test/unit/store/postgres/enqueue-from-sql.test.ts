import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import type pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Client } from "../../../../src/client/client.ts";
import { connect } from "../../../../src/connect.ts";
import type { MillraceError } from "../../../../src/core/errors.ts";
import type { Job } from "../../../../src/core/job.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { canonicalText } from "../../../../src/core/unique.ts";
import { isId, tenBitsOf } from "../../../../src/lib/id.ts";
import { SQL_ENQUEUE_VERSION, sqlEnqueueTexts } from "../../../../src/store/postgres/functions/enqueue-from-sql.ts";
import { codeBlocks } from "../../../e2e/code-blocks.ts";
import { connectedTo, freshUrl, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

interface World {
  readonly client: Client;
  readonly db: pg.Client;
  readonly schema: string;
  /** Enqueues from SQL: payload and options are JSON texts. */
  readonly enqueue: (type: string | null, payload: string | null, options?: string | null) => Promise<string>;
}

async function world(): Promise<World> {
  const url = freshUrl(server());
  const client = await connect(url);
  onTestFinished(() => client.close());
  const db = await connectedTo(server());
  const schema = schemaOf(url);
  return {
    client,
    db,
    schema,
    enqueue: async (type, payload, options = "{}") => {
      const text = `select ${schema}.enqueue($1, $2::jsonb, options => $3::jsonb) as id`;
      return (await db.query<{ id: string }>(text, [type, payload, options])).rows[0]!.id;
    },
  };
}

/** What two jobs must have in common: all but ids and the times of their creation. */
function comparable(job: Job, isFixedTime: boolean): unknown {
  const { createdAt, updatedAt, scheduledAt } = job;
  expect(updatedAt).toBe(createdAt);
  return {
    ...job,
    id: "",
    createdAt: 0,
    updatedAt: 0,
    scheduledAt: scheduledAt === null || isFixedTime ? scheduledAt : scheduledAt - createdAt,
  };
}

const nested = (depth: number): unknown => (depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { a: nested(depth - 1) });

const preview = (options: unknown): string => JSON.stringify(options).slice(0, 200);

const SOON = "2031-02-28T23:59:59.1239567+05:30";

const ACCEPTED: readonly (readonly [payload: unknown, options: Record<string, unknown>])[] = [
  [null, {}],
  ["text", {}],
  [{ to: "ann", n: [1, 2.5, -0.001, 1e21, true, null], "": { "ä😀": '\u0001\u001f\u007f\u2028"\\' } }, {}],
  [nested(100), {}],
  [1, { queue: "a.b_c:d-9" }],
  ...["low", "default", "high", "critical", -100, 0, 7, 100].map((priority) => [1, { priority }] as const),
  ...[0, 1, "0ms", "30s", "1.5s", "5m", "2h", "3652.5d", "0.001s"].map((delay) => [1, { delay }] as const),
  ...[SOON, "2031-01-01T24:00Z", "2032-02-29T00:00:00-0800", "2001-01-01t00:00z", 1_924_992_000_123].map(
    (runAt) => [1, { runAt }] as const,
  ),
  [1, { maxRetries: 0 }],
  [1, { maxRetries: 0, maxLost: 5 }],
  [1, { maxRetries: 100, retryDelay: "5m", backoff: "slowly", timeout: "24d" }],
  [1, { backoff: "exponential", timeout: 0 }],
  [1, { tags: [] }],
  [1, { tags: ["b", "a", "b", "\u0001x", 'q"\\{}', "😀".repeat(32)] }],
  [1, { meta: { user: { id: 1 }, list: ["x"] } }],
  [1, { meta: {}, webhookUrl: "https://hooks.example.com:8443/a/b-c?x=1&y=%20" }],
  // The settings of the queue `mail`.
  [{ customer: { id: 17 }, region: "eu", note: "x" }, { queue: "mail" }],
  [{ customer: [{ id: 1 }], region: "" }, { queue: "mail" }],
  [
    { customer: { id: "😀".repeat(100) }, region: "😀".repeat(101) },
    { queue: "mail", maxRetries: 0, timeout: "1s" },
  ],
  [{ region: true }, { queue: "mail", retryDelay: 5, backoff: "exponential", maxLost: 1 }],
];

const REFUSED: readonly (readonly [type: string, payload: unknown, options: Record<string, unknown>])[] = [
  ["", 1, {}],
  ["with space", 1, {}],
  ["x".repeat(129), 1, {}],
  ["ä", 1, {}],
  ["millrace:webhook", 1, {}],
  ["t", "x".repeat(1024 * 1024), {}],
  ["t", nested(101), {}],
  ["t", 1, { attempts: 3 }],
  ["t", 1, { delay: "1s", runAt: "2031-01-01T00:00Z" }],
  ...(
    [
      ["queue", ["", "a~webhooks", "a b", 1, null, {}]],
      ["priority", ["urgent", "Low", 1.5, 101, -101, null, true, [1, 2], "x".repeat(100)]],
      ["delay", [-1, 0.5, "5 m", "5x", "0.0001s", "3652.6d", "", null, {}]],
      ["maxRetries", [-1, 101, 1.5, "3", null]],
      ["maxLost", [-1, 101, "3", null]],
      ["retryDelay", ["6m", 300_001, null]],
      ["backoff", ["", "a b", 1, null]],
      ["timeout", ["25d", -1, null]],
      ["idempotencyKey", ["", "x".repeat(256), "ä".repeat(128), 1, null]],
      ["keyTtl", ["1y", -1, null]],
      ["tags", ["a", [""], [1], ["x".repeat(65)], ["😀".repeat(33)], Array.from({ length: 21 }, String), null, {}]],
      ["meta", [[], "x", 1, null, { a: "x".repeat(16 * 1024) }]],
    ] as const
  ).flatMap(([name, values]) => values.map((value) => ["t", 1, { [name]: value }] as const)),
];

const NO_TIMES = ["", "2031-01-01", "2031-01-01T00:00", "2031-02-29T00:00Z", "2031-13-01T00:00Z", "2031-01-01T25:00Z", "2031-01-01T24:01Z"];
const NO_TIMES_EITHER = [
  "2031-01-01T00:00+24:00",
  "2031-01-01T00:00:60Z",
  "1999-12-31T23:59:59Z",
  1_900_000_000,
  "2060-01-01T00:00Z",
  null,
];

test("a job from SQL is the job that the client makes of the same words", async () => {
  const { client, enqueue } = await world();
  await client.configure(
    "mail",
    { facets: ["region", "customer.id"], defaults: { maxRetries: 7, retryDelay: "9s", backoff: "fixed", timeout: "3m" } },
    { create: true },
  );
  for (const [payload, options] of ACCEPTED) {
    const isFixedTime = "runAt" in options;
    const [one, other] = [
      await client.enqueue("t", payload, options),
      await enqueue("t", JSON.stringify(payload), JSON.stringify(options)),
    ];
    expect(isId(other) && tenBitsOf(other)).toBe(tenBitsOf(one.id));
    const [expected, found] = [(await client.get(one.id))!, (await client.get(other))!];
    expect([preview(options), comparable(found, isFixedTime)]).toEqual([preview(options), comparable(expected, isFixedTime)]);
  }
  const bare = await client.get(await enqueue("t", null, null));
  expect(bare).toMatchObject({ queue: "default", payload: null, status: "pending", maxRetries: 3 });
  expect((await client.list({ queue: "mail", where: { region: "eu" } })).jobs).toHaveLength(2);
  expect((await client.stats()).queues["mail"]?.counts.pending).toBe(8);
});

test("what the client refuses is refused from SQL in the same words", async () => {
  const { client, enqueue, db, schema } = await world();
  const times = [...NO_TIMES, ...NO_TIMES_EITHER].map((runAt) => ["t", 1, { runAt }] as const);
  for (const [type, payload, options] of [...REFUSED, ...times]) {
    const expected = (await client.enqueue(type, payload, options as object).catch((error: unknown) => error)) as MillraceError;
    const found = (await enqueue(type, JSON.stringify(payload), JSON.stringify(options)).catch(
      (error: unknown) => error,
    )) as pg.DatabaseError;
    // jsonb has spaces, which count.
    const message = found.message.replace(/(bytes of JSON); got \d+$/, "$1");
    expect({ given: preview(options), message, field: found.column, code: found.detail }).toEqual({
      given: preview(options),
      // SQL knows the options, but not what was meant.
      message: expected.message
        .replace("a Date, ", "")
        .replace(/(bytes of JSON); got \d+$/, "$1")
        .replace(/did you mean \w+\? \((.*)\)$/, "$1"),
      field: expected.field,
      code: expected.code,
    });
    expect(found.code).toBe("MR001");
  }
  await expect(enqueue(null, "1")).rejects.toMatchObject({ code: "MR001", column: "type" });
  await expect(enqueue("t", "1", "[]")).rejects.toMatchObject({ code: "MR001", column: "options" });
  await expect(enqueue("t", '{"a": [1e400]}')).rejects.toMatchObject({ code: "MR001", column: "payload" });
  await expect(client.enqueue("t", JSON.parse('{"a": [1e400]}'))).rejects.toMatchObject({ code: "invalid_input" });
  const { rows } = await db.query(`select from ${schema}.job`);
  expect(rows).toEqual([]);
});

test("a webhook URL that SQL accepts is one that the client stores as it is", async () => {
  const { client, db, schema, enqueue } = await world();
  const usually = (usual: string, ...others: string[]): fc.Arbitrary<string> =>
    fc.oneof({ weight: 2, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
  const urls = fc
    .tuple(
      usually("https://", "http://", "HTTP://", "ftp://"),
      usually("example.com", "localhost", "a-b.c1", "Example.com", "127.1", "a.5", "xn--a.com", "-a.b", "a..b", "0x1"),
      usually("", ":80", ":443", ":8080", ":65536", ":0"),
      usually("/", "", "/a/../b", "/a/.", "/%2E%2e/x", "/a.b/..c/", "/it's", "/a//b", "/{x}"),
      fc
        .array(fc.constantFrom("a", "Z", "0", "9", ".", "%", "/", "_", "~", "e", "'", "|", "%2e"), { maxLength: 4 })
        .map((all) => all.join("")),
      usually("", "?", "?a=1&b=%20", "?it's", "?a#b", "?ä"),
    )
    .map((all) => all.join(""));
  let accepted = 0;
  for (const url of fc.sample(urls, { numRuns: 400, seed: 1 })) {
    const id = await enqueue("t", null, JSON.stringify({ webhookUrl: url })).catch(
      (error: pg.DatabaseError) => void expect(error.column).toBe("webhookUrl"),
    );
    if (id === undefined) continue;
    accepted++;
    expect(URL.parse(url)?.href).toBe(url);
    expect((await client.get(id))?.webhookUrl).toBe(url);
  }
  expect(accepted).toBeGreaterThan(20);
  const { rowCount } = await db.query(`select from ${schema}.job`);
  expect(rowCount).toBe(accepted);
});

test("partitions and canonical payloads are those of the client", async () => {
  const { db, schema } = await world();
  const names = fc.sample(fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/), { numRuns: 300, seed: 1 });
  const partitions = await db.query<{ found: number }>(
    `select ${schema}.partition_for_sql(name) as found from unnest($1::text[]) with ordinality n(name, ord) order by ord`,
    [names],
  );
  expect(partitions.rows.map(({ found }) => found)).toEqual(names.map(partitionOf));

  const numbers = fc.oneof(
    // Many of these are halfway between two doubles.
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 68n }).map((whole) => `${whole}0`),
    fc.bigInt({ min: 2n ** 50n, max: 2n ** 54n }).map((whole) => `${whole / 10n}0`),
    fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
    fc.tuple(fc.bigInt(), fc.integer({ min: -340, max: 20 })).map(([digits, power]) => `${digits}e${power}`),
    fc.constantFrom(
      "0",
      "-0",
      "1.0",
      "1.50",
      "1e21",
      "123456789012345680000",
      "1e-7",
      "0.000001",
      "5e-324",
      "2e-324",
      "25839242045134270",
      "9007199254740993",
      "1e308",
    ),
  );
  const names16 = fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("\ue000", "\uffff", "😀", "\ud7ff", "a\ue000", "a😀"));
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      numbers,
      fc
        .oneof(names16, fc.string({ unit: "binary" }))
        .filter((text) => !text.includes("\u0000"))
        .map((text) => JSON.stringify(text)),
      fc.constantFrom("true", "false", "null"),
      fc.array(tie("value"), { maxLength: 4 }).map((all) => `[${all.join(", ")}]`),
      fc
        .uniqueArray(fc.tuple(names16, tie("value")), { maxLength: 5, selector: ([name]) => name })
        .map((all) => `{${all.map(([name, inner]) => `${JSON.stringify(name)}: ${inner}`).join(",")}}`),
    ),
  }));
  const texts = fc.sample(value, { numRuns: 500, seed: 1 }).filter((text) => !text.includes("\\u0000"));
  const found = await db.query<{ found: string }>(
    `select ${schema}.canonical_for_sql(text::jsonb) as found from unnest($1::text[]) with ordinality t(text, ord) order by ord`,
    [texts],
  );
  expect(found.rows.map((row) => row.found)).toEqual(texts.map(canonicalText));
});

test("keys, capacities and expired keys count for both alike", async () => {
  const { client, enqueue } = await world();
  const options = '{"idempotencyKey": "k", "keyTtl": 0}';
  const first = await client.enqueue("t", { b: 1, a: [1.5] }, { idempotencyKey: "k", keyTtl: 0 });
  expect(await enqueue("t", '{"a": [1.50], "b": 1.0}', options)).toBe(first.id);
  const refused = (await client.enqueue("t", 2, { idempotencyKey: "k" }).catch((error: unknown) => error)) as MillraceError;
  await expect(enqueue("t", "2", options)).rejects.toMatchObject({ code: "MR002", message: refused.message, detail: refused.code });
  await client.cancel(first.id);
  const second = await enqueue("t", "2", options);
  expect(second).not.toBe(first.id);
  expect(await client.enqueue("t", 2, { idempotencyKey: "k" })).toMatchObject({ id: second, created: false });

  await client.configure("small", { capacity: 1 }, { create: true });
  await enqueue("t", "1", '{"queue": "small"}');
  const full = (await client.enqueue("t", 1, { queue: "small" }).catch((error: unknown) => error)) as MillraceError;
  await expect(enqueue("t", "1", '{"queue": "small"}')).rejects.toMatchObject({ code: "MR003", message: full.message, detail: full.code });
});

/** The options of a job from SQL and of the same job with `tx`. Each takes another way to a lane that only the transaction knows. */
const NEW_NAMES = [
  ["a type", "mail", {}, "mail", {}],
  ["a queue", "mail", { queue: "new" }, "other", { queue: "new" }],
  ["a priority", "mail", { priority: 7 }, "mail", { priority: 7 }],
  ["a key", "mail", { idempotencyKey: "k" }, "mail", { idempotencyKey: "k" }],
] as const;

describe.each(NEW_NAMES)("the first job with %s, from SQL and with tx in one transaction", (name, type, sqlOptions, txType, txOptions) => {
  const isSame = name === "a key";

  test.each(["SQL first", "tx first"])("waits for nobody, and both are stored or neither: %s", async (order) => {
    const { client, db, enqueue } = await world();
    const steps = [
      () => enqueue(type, "1", JSON.stringify(sqlOptions)),
      async () => (await client.enqueue(txType, 1, { ...txOptions, tx: db })).id,
    ];
    if (order === "tx first") steps.reverse();
    for (const end of ["rollback", "commit"]) {
      await db.query("begin");
      const ids = [await steps[0]!(), await steps[1]!()];
      await db.query(end);
      const found = await Promise.all(ids.map((id) => client.get(id)));
      expect(found.map((job) => job?.id ?? null)).toEqual(end === "commit" ? ids : [null, null]);
      expect(new Set(ids).size).toBe(isSame ? 1 : 2);
    }
    // Nothing of the transaction that was rolled back is kept: its numbers would be those of other names.
    const { id } = await client.enqueue(txType, 2, { queue: "new" });
    expect(await client.get(id)).toMatchObject({ type: txType, queue: "new" });
  });
});

test("two transactions that need each other's new names do not wait for ever: one fails, and the other goes on", async () => {
  const { client, db, schema, enqueue } = await world();
  const other = await connectedTo(server());
  const impatient = await connect(`${server().url}?schema=${schema}`, { deadline: "1s" });
  onTestFinished(() => impatient.close());
  // The queue is not new.
  await client.enqueue("first");
  await Promise.all([db.query("begin"), other.query("begin")]);
  await enqueue("x", "1");
  await other.query(`select ${schema}.enqueue('y', '1')`);
  const waiting = client.enqueue("y", 1, { tx: db });
  await expect(impatient.enqueue("x", 1, { tx: other })).rejects.toMatchObject({ code: "store_unavailable" });
  await other.query("rollback");
  await waiting;
  await db.query("commit");
  expect((await client.list()).jobs.map((job) => job.type).toSorted()).toEqual(["first", "x", "y"]);
});

test("the trigger of docs/transactions.md enqueues with its order or not at all, and a worker is told at the commit", async () => {
  const { client, db, schema } = await world();
  const page = readFileSync(new URL("../../../../docs/transactions.md", import.meta.url), "utf8");
  const [example] = codeBlocks(page, "sql");
  await db.query(
    `create schema app_${schema}; set search_path = app_${schema}; create table orders (id bigserial primary key, email text)`,
  );
  await db.query(example!.code.replaceAll("millrace.", `${schema}.`));
  const heard: string[] = [];
  const listener = await connectedTo(server());
  listener.on("notification", ({ payload }) => heard.push(payload!));
  await listener.query(`listen ${schema}`);
  const done: unknown[] = [];
  const worker = client.work({ "order:mail": async (payload: unknown) => void done.push(payload) });

  await db.query("begin; insert into orders (email) values ('rolled@back')");
  await db.query("rollback");
  await db.query("begin; insert into orders (email) values ('ann@example.com'), ('bob@example.com')");
  await listener.query("select 1");
  expect(heard.filter((payload) => payload.startsWith("sql "))).toEqual([]);
  await db.query("commit");
  await expect.poll(() => done, { timeout: 10_000 }).toHaveLength(2);
  expect(done).toEqual(
    expect.arrayContaining(["ann@example.com", "bob@example.com"].map((to) => expect.objectContaining({ to }) as object)),
  );
  await listener.query("select 1");
  expect(heard.filter((payload) => payload.startsWith("sql "))).toEqual(["sql work:default"]);
  await worker.stop();
});

test("opening a store replaces the function of an older version, and neither that of a newer one nor one of the user's", async () => {
  const { db, schema } = await world();
  const url = `${server().url}${server().url.includes("?") ? "&" : "?"}schema=${schema}`;
  const signature = `${schema}.enqueue(text, jsonb, jsonb)`;
  const textOf = async (): Promise<string> =>
    (await db.query<{ text: string }>(`select pg_get_functiondef('${signature}'::regprocedure) as text`)).rows[0]!.text;
  const ours = await textOf();
  const other = `create or replace function ${schema}.enqueue(type text, payload jsonb default null, options jsonb default '{}')
    returns text language sql as 'select null::text'`;
  const reopened = async (comment: string): Promise<boolean> => {
    await db.query(`${other}; comment on function ${signature} is ${comment}`);
    await (await openStoreOn(url)).queues();
    return (await textOf()) === ours;
  };
  const version = (number: number): string => `'Enqueues a job of Millrace. Version ${number}'`;
  expect(await reopened(version(SQL_ENQUEUE_VERSION - 1))).toBe(true);
  expect(await reopened(version(SQL_ENQUEUE_VERSION + 1))).toBe(false);
  expect(await reopened("null")).toBe(false);
  await db.query(`drop function ${signature}`);
  await openStoreOn(url);
  expect(await textOf()).toBe(ours);
});

test("a released text has its own version: whoever changes it raises SQL_ENQUEUE_VERSION", () => {
  const digest = createHash("sha256").update(sqlEnqueueTexts("s")).digest("hex").slice(0, 16);
  expect({ version: SQL_ENQUEUE_VERSION, digest }).toEqual({ version: 4, digest: "997c92f857f0e769" });
});
