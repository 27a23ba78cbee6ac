/** Stores an order and its e-mail job together or not at all, and marks the order as mailed together with the completion of the job. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { connect } from "millrace";

const folder = mkdtempSync(join(tmpdir(), "millrace-example-"));
const path = join(folder, "shop.db");
const client = await connect(`sqlite:${path}`);
const db = new DatabaseSync(path, { timeout: 1000 });
db.exec("create table orders (id integer primary key, total int, mailed int not null default 0)");

async function placeOrder(id: number, total: number): Promise<void> {
  db.exec("begin immediate");
  try {
    db.prepare("insert into orders (id, total) values (?, ?)").run(id, total);
    await client.enqueue("order:mail", { id }, { tx: db });
    if (total < 0) throw new Error("an order cannot be negative");
    db.exec("commit");
  } catch (error) {
    db.exec("rollback");
    throw error;
  }
}

await placeOrder(1, 100);
await placeOrder(2, -5).catch((error: Error) => console.log(`order 2: ${error.message}`));

const { jobs } = await client.list();
console.log(`${jobs.length} job for ${db.prepare("select id from orders").all().length} order`);

// One slot: a connection has one transaction, and statements of another handler would become part of it.
const worker = client.work(
  {
    "order:mail": async ({ id }: { id: number }, ctx) => {
      db.exec("begin immediate");
      try {
        db.prepare("update orders set mailed = 1 where id = ?").run(id);
        await ctx.complete({ mailed: id }, { tx: db });
        db.exec("commit");
      } catch (error) {
        // ctx.complete throws if the job was cancelled meanwhile. An open transaction would block all other writers.
        db.exec("rollback");
        throw error;
      }
    },
  },
  { concurrency: 1 },
);
const ended = await client.wait(jobs[0]!.id);
console.log(ended.status, ended.result, db.prepare("select id, mailed from orders").get());

await worker.stop();
await client.close();
db.close();
rmSync(folder, { recursive: true });
