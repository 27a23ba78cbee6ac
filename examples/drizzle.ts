/**
 * Stores an order and the job that ships it in one Drizzle transaction on PostgreSQL. If you enqueued after the commit, a crash in between
 * would lose the job; before it, a rollback would leave a job without an order. Inside, both are stored or neither is.
 *
 *     DATABASE_URL=postgres://localhost/shop node examples/drizzle.ts
 */
import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { connect, defineJob } from "millrace";
import pg from "pg";
import * as z from "zod";

const url = process.env["DATABASE_URL"] ?? "postgres://localhost/shop";
const pool = new pg.Pool({ connectionString: url });
const db = drizzle(pool);
const orders = pgTable("example_orders", {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  item: text().notNull(),
  state: text().notNull().default("placed"),
});
await pool.query(`create table if not exists example_orders
  (id int primary key generated always as identity, item text not null, state text not null default 'placed')`);

const ship = defineJob({ type: "order:ship", input: z.object({ order: z.int() }) });
const client = await connect(url);

async function placeOrder(item: string, isPaid: boolean): Promise<string> {
  return db.transaction(async (tx) => {
    const [order] = await tx.insert(orders).values({ item }).returning({ id: orders.id });
    const job = await client.enqueue(ship, { order: order!.id }, { tx });
    if (!isPaid) throw new Error(`${item}: the card was declined`);
    return job.id;
  });
}

const paid = await placeOrder("a mill wheel", true);
await placeOrder("a second mill wheel", false).catch((error: Error) => console.log(error.message));
console.log(`${(await db.select().from(orders)).length} order, ${(await client.list({ type: "order:ship" })).jobs.length} job`);

// The handler does the same: the order is marked as shipped if and only if the job is completed.
const worker = client.work([
  ship.handle(async ({ order }, ctx) => {
    await db.transaction(async (tx) => {
      await tx.update(orders).set({ state: "shipped" }).where(eq(orders.id, order));
      await ctx.complete({ shipped: order }, { tx });
    });
  }),
]);
const ended = await client.wait(paid);
console.log(ended.status, await db.select().from(orders));

await worker.stop();
await client.close();
await pool.query("drop table example_orders");
await pool.end();
