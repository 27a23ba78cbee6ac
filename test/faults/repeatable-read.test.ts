/** A handler that completes its job in a transaction whose snapshot is older than the last renewal of its lease. */
import { type Client, connect } from "millrace";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { freshSchema, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { until } from "./until.ts";

let server: PostgresServer;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server.stop());

interface Place {
  readonly client: Client;
  readonly tx: pg.Client;
  /** When the lease of the only other running job of this type ends. */
  readonly leaseEnd: (type: string) => Promise<number>;
}

async function open(): Promise<Place> {
  const url = freshSchema(server.url);
  const schema = new URL(url).searchParams.get("schema")!;
  const client = await connect(url);
  const [tx, eye] = [new pg.Client({ connectionString: server.url }), new pg.Client({ connectionString: server.url })];
  await Promise.all([tx.connect(), eye.connect()]);
  onTestFinished(async () => {
    await Promise.all([tx.end(), eye.end()]);
    await client.close({ grace: 0 });
  });
  const text = `select r.lease_until::float8 as ends from ${schema}.running r join ${schema}.lane l on l.id = r.lane where l.type = $1`;
  return { client, tx, leaseEnd: async (type) => (await eye.query<{ ends: number }>(text, [type])).rows[0]!.ends };
}

/** Runs a handler that begins its transaction, waits until leases have been renewed, and completes. */
async function completeAfterRenewal(place: Place, isHeld: boolean): Promise<{ status: string; code: unknown }> {
  const { client, tx, leaseEnd } = place;
  let code: unknown = null;
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  client.work(
    {
      witness: () => done,
      culprit: async (_payload, ctx) => {
        if (isHeld) await ctx.holdLease("1m");
        await tx.query("begin isolation level repeatable read");
        await tx.query("select count(*) from pg_class");
        const type = isHeld ? "witness" : "culprit";
        const before = await leaseEnd(type);
        await until(async () => (await leaseEnd(type)) > before);
        try {
          await ctx.complete("done", { tx });
          await tx.query("commit");
        } catch (error) {
          code = (error as { code?: unknown }).code;
          await tx.query("rollback");
          throw error;
        } finally {
          finish();
        }
      },
    },
    { lease: "1500ms", concurrency: 2 },
  );
  await client.enqueue("witness");
  await until(async () => (await client.list({ type: "witness", status: "running" })).jobs.length === 1);
  const { id } = await client.enqueue("culprit", null, { maxRetries: 0 });
  return { status: (await client.wait(id)).status, code };
}

test("fails with 40001, as every transaction does that changes a row which was changed since", async () => {
  expect(await completeAfterRenewal(await open(), false)).toEqual({ status: "dead", code: "40001" });
});

test("completes when the handler has asked that its lease is left alone", async () => {
  expect(await completeAfterRenewal(await open(), true)).toEqual({ status: "completed", code: null });
});
