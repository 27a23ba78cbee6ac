/** A handler completes its job in a transaction of its own and leaves that open: the row of its job stays locked. */
import { type Client, connect, type Duration, type Trouble } from "millrace";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freshSchema, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { until } from "./until.ts";

describe("a handler that leaves its transaction open on PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => void (server = await startPostgres()));
  afterAll(() => server.stop());

  /** A client, and a connection of the handler's own with an open transaction. */
  async function open(deadline: Duration): Promise<{ client: Client; tx: pg.Client; troubles: Trouble[] }> {
    const troubles: Trouble[] = [];
    const url = freshSchema(server.url);
    const client = await connect(url, { deadline, onTrouble: (trouble) => troubles.push(trouble) });
    const tx = new pg.Client({ connectionString: server.url });
    await tx.connect();
    await tx.query("begin");
    onTestFinished(async () => {
      await tx.end();
      await client.close({ grace: 0 });
    });
    return { client, tx, troubles };
  }

  test.each([1, 4])("does not stop the other jobs of its worker (%i slots)", { timeout: 50_000 }, async (concurrency) => {
    // The deadline is longer than this test may take: whoever waits for the row waits to the end.
    const { client, tx, troubles } = await open("2m");
    let hasReturned = false;
    client.work(
      {
        culprit: async (_payload, ctx) => {
          ctx.log("before");
          await ctx.complete("in my transaction", { tx });
          ctx.log("after");
          hasReturned = true;
        },
        // It has something to log, too: its lines must not wait for those of the culprit.
        other: async (payload, ctx) => {
          ctx.log("at work");
          return payload;
        },
      },
      { concurrency },
    );
    const { id } = await client.enqueue("culprit");
    await until(() => hasReturned);
    for (let index = 0; index < 20; index++) {
      const other = await client.enqueue("other", index);
      expect(await client.wait(other.id)).toMatchObject({ status: "completed", result: index });
    }
    expect(await client.get(id)).toMatchObject({ status: "running" });
    await tx.query("commit");
    expect(await client.wait(id)).toMatchObject({ status: "completed", result: "in my transaction", attempt: 1 });
    expect(troubles).toEqual([]);
  });

  test("does not stop them after its report has failed, and the report is answered once the row is free", { timeout: 50_000 }, async () => {
    const { client, tx, troubles } = await open("1s");
    const worker = client.work(
      {
        culprit: (_payload, ctx) => ctx.complete("in my transaction", { tx }),
        other: async (payload) => payload,
      },
      { concurrency: 2 },
    );
    const { id } = await client.enqueue("culprit");
    await until(() => troubles.length > 0);
    expect(troubles).toEqual([
      expect.objectContaining({ kind: "report", message: expect.stringContaining(`job ${id} could not be reported yet`) as string }),
    ]);
    for (let index = 0; index < 20; index++) {
      const other = await client.enqueue("other", index);
      expect(await client.wait(other.id)).toMatchObject({ status: "completed", result: index });
      expect(worker.healthy).toBe(true);
    }
    await tx.query("rollback");
    // A handler that returns all the same says that the job is done: that is what the report brings.
    expect(await client.wait(id)).toMatchObject({ status: "completed", result: "in my transaction", attempt: 1 });
    await worker.stop();
    expect(troubles.length).toBe(1);
  });
});
