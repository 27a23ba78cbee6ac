import { describe, expect } from "vitest";
import { Discard } from "../../src/core/control-errors.ts";
import type { Client, JobFilter } from "../../src/client/client.ts";
import type { Promises } from "./client.ts";

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
      expect(await client.facets("customer")).toEqual({ values, without: 1, isCapped: false });
      expect(await client.facets("customer", { queue: "mail", status: "dead", where: { "order.region": "eu" } })).toMatchObject({ values });
      expect(await client.facets("customer", { q: "globex" })).toMatchObject({ values: values.slice(0, 1) });
      expect((await client.dead.groups({ queue: "mail", where: { customer: "globex" } })).groups).toMatchObject([{ count: 2 }]);
      expect(await client.dead.retry({ queue: "mail", where: { customer: "globex" } })).toBe(2);
      expect((await client.facets("customer")).values).toEqual(values.slice(1));
      const nobody = { values: [], without: 2, isCapped: false };
      expect(await client.facets("constructor")).toEqual(nobody);
      expect(await client.facets("constructor", { where: { "order.region": "eu" } })).toEqual(nobody);
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
