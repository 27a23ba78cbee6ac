import { describe, expect } from "vitest";
import { Discard } from "../../src/core/control-errors.ts";
import type { Client, JobFilter, JobPage } from "../../src/client/client.ts";
import type { Promises } from "./client.ts";
import { dieAtOnce } from "./die-at-once.ts";

const FAILS = (): never => {
  throw new Discard("no route");
};

/** Which customer's jobs fail: fields of the payload, declared as facets or not. */
export function facetSuite(promises: Promises): void {
  const idsOf =
    (client: Client) =>
    async (filter: JobFilter): Promise<string[]> =>
      (await client.list(filter)).jobs.map(({ id }) => id).sort();

  describe("payload fields", () => {
    promises("are found by where: in lists, counts, groups and bulk operations, with no set-up", async (client) => {
      const globex = await client.enqueue("mail", { customer: "globex", order: { region: "eu", n: 7 } });
      const acme = await client.enqueue("mail", { customer: "acme", note: "not globex", order: { region: "eu", n: 7.5 } });
      await client.enqueue("mail", { other: { customer: "globex" }, list: ["globex"] });
      const ids = idsOf(client);
      expect(await ids({ where: { customer: "globex" } })).toEqual([globex.id]);
      expect(await ids({ where: { "order.region": "eu" } })).toEqual([globex.id, acme.id].sort());
      expect(await ids({ where: { "order.region": "eu", customer: "acme" } })).toEqual([acme.id]);
      expect(await ids({ where: { "order.n": 7 } })).toEqual([globex.id]);
      expect(await ids({ where: { customer: "globex" }, q: "acme" })).toEqual([]);
      expect(await ids({ where: { customer: "globex" }, q: globex.id })).toEqual([globex.id]);
      expect(await ids({ where: { customer: "acme" }, q: globex.id })).toEqual([]);
      expect(await ids({ where: { order: "eu" } })).toEqual([]);
      expect(await client.count({ where: { "order.region": "eu" } })).toEqual({ count: 2, isCapped: false });
      expect(await client.bulk.preview({ action: "cancel", filter: { where: { customer: "acme" } } })).toMatchObject({
        matched: 1,
        filter: { where: { customer: "acme" } },
      });
      const operation = await client.bulk.start({ action: "cancel", filter: { where: { customer: "acme" } } });
      await client.wait(operation.id);
      expect((await client.get(acme.id))?.status).toBe("cancelled");
      expect((await client.get(globex.id))?.status).toBe("pending");
    });

    promises("are found by their whole value, as a string, a number or with quotes in it", async (client) => {
      const values = ["c3", "c30", "C3", 3, "3", true, "true", 'say "c3" now', "é c3", "-"];
      const jobs = await Promise.all(values.map((customer) => client.enqueue("mail", { customer })));
      const idOf = (index: number): string => jobs[index]!.id;
      const ids = idsOf(client);
      expect(await ids({ where: { customer: "c3" } })).toEqual([idOf(0)]);
      expect(await ids({ where: { customer: 3 } })).toEqual([idOf(3), idOf(4)].sort());
      expect(await ids({ where: { customer: "true" } })).toEqual([idOf(5), idOf(6)].sort());
      for (const index of [1, 2, 7, 8, 9]) expect(await ids({ where: { customer: values[index]! } })).toEqual([idOf(index)]);
    });

    promises("of a queue with facets are taken out at enqueue, found by where, and count its failures", async (client, { direct }) => {
      await client.configure("mail", { facets: ["customer", "order.region"] });
      const [info] = await client.queues();
      expect(info?.facets.map(({ field }) => field)).toEqual(["customer", "order.region"]);
      const add = (customer: unknown): Promise<{ id: string }> =>
        client.enqueue("mail", { customer, order: { region: "eu" } }, { queue: "mail", maxRetries: 0 });
      const one = await add("globex");
      const two = await add("globex");
      const number = await add(42);
      const none = await add(null);
      expect((await client.get(one.id))?.facets).toEqual({ customer: "globex", "order.region": "eu" });
      expect((await client.get(none.id))?.facets).toEqual({ "order.region": "eu" });
      const ids = idsOf(client);
      expect(await ids({ queue: "mail", where: { customer: "globex" } })).toEqual([one.id, two.id].sort());
      expect(await ids({ queue: "mail", where: { customer: 42 } })).toEqual([number.id]);
      expect(await ids({ where: { customer: "globex" } })).toEqual([one.id, two.id].sort());
      const worker = direct.work({ mail: FAILS }, { queues: ["mail"] });
      await Promise.all([one, two, number, none].map(({ id }) => client.wait(id)));
      await worker.stop();
      const values = [
        { value: "globex", count: 2 },
        { value: "42", count: 1 },
      ];
      expect(await client.facets("customer")).toEqual({ values, without: 1, isCapped: false, hasMore: false });
      expect(await client.facets("customer", { queue: "mail", status: "dead", where: { "order.region": "eu" } })).toMatchObject({ values });
      expect(await client.facets("customer", { q: "globex" })).toMatchObject({ values: values.slice(0, 1) });
      expect((await client.dead.groups({ queue: "mail", where: { customer: "globex" } })).groups).toMatchObject([{ count: 2 }]);
      expect(await client.dead.retry({ queue: "mail", where: { customer: "globex" } })).toBe(2);
      expect((await client.facets("customer")).values).toEqual(values.slice(1));
      const nobody = { values: [], without: 2, isCapped: false, hasMore: false };
      expect(await client.facets("constructor")).toEqual(nobody);
      expect(await client.facets("constructor", { where: { "order.region": "eu" } })).toEqual(nobody);
    });

    promises("with more values than are listed are counted exactly nevertheless", async (client) => {
      await client.configure("mail", { facets: ["customer"] });
      // Two jobs of each customer, but one of the last.
      const all = Array.from({ length: 51 }, (_, index) => `customer-${index}`);
      await client.enqueueMany([...all, ...all.slice(0, 50)].map((customer) => ({ type: "mail", payload: { customer }, queue: "mail" })));
      await dieAtOnce(client, "mail", () => "no route");
      for (const filter of [{}, { q: "customer" }]) {
        const { values, ...more } = await client.facets("customer", filter);
        expect(more).toEqual({ without: 0, isCapped: false, hasMore: true });
        expect(values.map(({ count }) => count)).toEqual(Array.from({ length: 50 }, () => 2));
      }
    });

    promises(
      "without a queue are looked up in the queues that declare them, then searched for in the others, each job once",
      async (client) => {
        const add = async (queue: string, customer: string): Promise<string> => (await client.enqueue("mail", { customer }, { queue })).id;
        await client.configure("mail", { facets: ["customer"] });
        await client.configure("push", { facets: ["customer"] });
        const first = await add("mail", "globex");
        const second = await add("push", "globex");
        const acme = await add("sms", "acme");
        const other = await add("sms", "globex");
        // It has entries in its index, but declares nothing any more.
        await client.configure("push", { facets: [] });
        const third = await add("mail", "globex");
        const filter = { where: { customer: "globex" } };
        const all = [third, second, first, other];
        const page = await client.list(filter);
        expect(page).toMatchObject({ jobs: all.map((id) => ({ id })), cursor: null });
        const paged: string[] = [];
        for (let cursor: string | null | undefined = undefined; cursor !== null;) {
          const { jobs, cursor: next }: JobPage = await client.list({ ...filter, limit: 1, cursor });
          paged.push(...jobs.map(({ id }) => id));
          cursor = next;
        }
        expect(paged).toEqual(all);
        expect(await client.count(filter)).toEqual({ count: 4, isCapped: false });
        expect(await client.count({ ...filter, status: "pending" })).toEqual({ count: 4, isCapped: false });
        const ids = idsOf(client);
        for (const id of all) expect(await ids({ ...filter, q: id })).toEqual([id]);
        expect(await ids({ ...filter, q: acme })).toEqual([]);
        const byState = await client.list({ ...filter, status: "pending", sort: "state" });
        expect(byState.jobs.map(({ id }) => id).sort()).toEqual(all.toSorted());
        expect(await ids({ where: { customer: "nobody" } })).toEqual([]);
        // Cursors of the others belong to such a list.
        await expect(client.list({ cursor: "o." })).rejects.toMatchObject({ code: "invalid_cursor" });
        expect(await client.bulk.preview({ action: "cancel", filter })).toMatchObject({ matched: 4, matchedIsCapped: false });
        const operation = await client.bulk.start({ action: "cancel", filter });
        await client.wait(operation.id);
        expect(await client.count({ ...filter, status: "cancelled" })).toEqual({ count: 4, isCapped: false });
        expect((await client.get(acme))?.status).toBe("pending");
        // Its queue has no other jobs then, and the operation ends nevertheless.
        await client.cancel(acme);
        await client.wait((await client.bulk.start({ action: "delete", filter: {}, all: true })).id);
        expect(await client.list(filter)).toEqual({ jobs: [], cursor: null });
      },
    );

    promises("without a queue are searched for only in queues that do not declare them, however many the others have", async (client) => {
      const addMany = async (count: number, queue: string): Promise<void> => {
        const items = Array.from({ length: count }, () => ({ type: "mail", payload: { customer: "globex" }, queue }));
        for (let from = 0; from < count; from += 1_000) await client.enqueueMany(items.slice(from, from + 1_000));
      };
      await client.configure("mail", { facets: ["customer"] });
      await client.configure("push", { facets: ["customer"] });
      await addMany(10, "sms");
      await addMany(600, "push");
      await client.configure("push", { facets: [] });
      await addMany(2_500, "mail");
      const filter = { where: { customer: "globex" } };
      expect(await client.count(filter)).toEqual({ count: 3_110, isCapped: false });
      expect(await client.count({ ...filter, status: "pending" })).toEqual({ count: 3_110, isCapped: false });
      expect(await client.bulk.preview({ action: "cancel", filter })).toMatchObject({ matched: 3_110, matchedIsCapped: false });
      const sizes: number[] = [];
      for (let cursor: string | null | undefined = undefined; cursor !== null;) {
        const page: JobPage = await client.list({ ...filter, limit: 500, cursor });
        sizes.push(page.jobs.length);
        cursor = page.cursor;
      }
      expect(sizes).toEqual([500, 500, 500, 500, 500, 500, 110]);
    });

    promises("without a queue are shown once, also if queues begin or end to declare them while you page", async (client) => {
      const add = async (queue: string): Promise<string> => (await client.enqueue("mail", { customer: "globex" }, { queue })).id;
      const filter = { where: { customer: "globex" } };
      const restAfter = async (page: JobPage): Promise<string[]> => {
        const shown = page.jobs.map(({ id }) => id);
        if (page.cursor === null) return shown;
        return [...shown, ...(await restAfter(await client.list({ ...filter, limit: 1, cursor: page.cursor })))];
      };
      const sms = [await add("sms"), await add("sms")];
      await client.configure("mail", { facets: ["customer"] });
      const mail = [await add("mail"), await add("mail")];
      const all = [...mail.toReversed(), ...sms.toReversed()];
      const [inIndexes, inOthers] = [await client.list({ ...filter, limit: 1 }), await client.list({ ...filter, limit: 3 })];
      const atOthers = await client.list({ ...filter, limit: 2 });
      await client.configure("mail", { facets: [] });
      for (const page of [inIndexes, atOthers, inOthers]) expect(await restAfter(page)).toEqual(all);
      // Now it is one search, newest first, and goes on as one.
      const newer = await add("sms");
      const searched = await client.list({ ...filter, limit: 1 });
      expect(searched.jobs).toMatchObject([{ id: newer }]);
      await client.configure("mail", { facets: ["customer"] });
      expect(await restAfter(searched)).toEqual([newer, ...all]);
    });

    promises("that a schedule's job has are facets too", async (client) => {
      await client.configure("mail", { facets: ["customer"] });
      await client.schedules.upsert({ name: "daily", type: "mail", every: "1d", queue: "mail", payload: { customer: "acme" } });
      const { id } = await client.schedules.run("daily");
      expect((await client.get(id))?.facets).toEqual({ customer: "acme" });
    });

    promises("with bad names or values are refused by name", async (client) => {
      const refused = (filter: object): Promise<unknown> => client.list(filter).catch((error: unknown) => error);
      expect(await refused({ where: { "a b": "x" } })).toMatchObject({ code: "invalid_input", field: "where" });
      expect(await refused({ where: { customer: "" } })).toMatchObject({ code: "invalid_input", field: "where.customer" });
      // As if it were absent, purge would delete every dead letter.
      expect(await refused({ where: { customer: undefined } })).toMatchObject({ code: "invalid_input", field: "where.customer" });
      expect(await refused({ where: { a: 1, b: 2, c: 3, d: 4, e: 5 } })).toMatchObject({ code: "invalid_input", field: "where" });
      await expect(client.bulk.preview({ action: "cancel", filter: { where: { customerId: "" } } })).rejects.toMatchObject({
        code: "invalid_input",
        field: "filter.where.customerId",
      });
      await expect(client.configure("mail", { facets: ["a", "b", "c", "d", "e"] })).rejects.toMatchObject({ field: "facets" });
      for (const field of ["a b", "", "a\u0000"]) {
        await expect(client.facets(field)).rejects.toMatchObject({ code: "invalid_input", field: "field" });
      }
      await expect(client.facets("customer", { status: "pending" })).rejects.toMatchObject({ code: "invalid_input", field: "status" });
    });
  });
}
