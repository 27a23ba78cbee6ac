import { describe, expect } from "vitest";
import { encodeFacets } from "../../../src/core/facets.ts";
import { type Move, RETRY } from "../../../src/core/lifecycle.ts";
import { type FacetQuery, type FacetValues, type ListQuery, MAX_CANDIDATES } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, settlementOf, type Wishes, type World } from "../world.ts";

const FIELDS = ["customer", "region"];

/** A job of a customer, in a queue with facets. */
const of = (customer: unknown, wishes: Wishes = {}): Wishes => ({
  queue: "mail",
  payload: { customer, region: "eu" },
  fields: FIELDS,
  ...wishes,
});

async function dieAll(world: World, queue: string): Promise<void> {
  for (let leases = await world.claim({ queues: [queue] }); leases.length > 0; leases = await world.claim({ queues: [queue] })) {
    await world.store.exchange(
      leases.map((lease) => settlementOf(lease, { kind: "discard", error: BOOM, runMs: 1 })),
      [],
    );
  }
}

/** The jobs of all pages, in order. */
async function idsOfPages(world: World, query: ListQuery): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await world.store.list({ ...query, cursor });
    seen.push(...page.jobs.map(({ id }) => id));
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  return seen;
}

const values = (world: World, query: Partial<FacetQuery> = {}): Promise<FacetValues> =>
  world.store.facetValues({ status: ["dead"], field: "customer", limit: 10, ...query });

/** Payload fields that a queue declares. */
export function facetSuite(engine: Engine): void {
  const keeps = keepsOn(engine);
  describe("facets", () => {
    keeps("are stored with the job, and shown by find, list, claim and change", async (world) => {
      const facets = { customer: "globex", region: "eu" };
      const { id } = await world.add(of("globex"));
      const { id: plain } = await world.add({ queue: "mail", payload: { customer: "globex" } });
      expect((await world.find(id)).facets).toEqual(facets);
      expect((await world.find(plain)).facets).toBeNull();
      const { jobs } = await world.store.list({ limit: 10 });
      expect(jobs.map((job) => job.facets)).toEqual([null, facets]);
      const [lease] = await world.claim({ queues: ["mail"], limit: 1 });
      expect(lease!.facets).toEqual(facets);
      await world.settle(lease!, { kind: "discard", error: BOOM, runMs: 1 });
      expect((await world.find(id)).facets).toEqual(facets);
    });

    keeps("are there however the job came in: with a key, for later, or blocked", async (world) => {
      const keyed = await world.add(of("globex", { idempotencyKey: "k" }));
      const later = await world.add(of("globex", { idempotencyKey: "l", delay: 1_000 }));
      const blocked = await world.block(of("globex"));
      const { jobs } = await world.store.list({ queue: "mail", facets: { customer: "globex" }, limit: 10 });
      expect(jobs.map(({ id }) => id)).toEqual([blocked.id, later.id, keyed.id]);
      expect(await world.insert({ ...keyed, id: world.newId("mail") })).toMatchObject({ kind: "known", job: { facets: keyed.facets } });
      expect(await world.store.count({ queue: "mail", facets: { customer: "globex" }, status: ["scheduled", "blocked"] })).toEqual({
        count: 2,
        isCapped: false,
      });
    });

    keeps("a list finds the jobs with all wanted facets, in every order, in its queue or in all", async (world) => {
      const { id: one } = await world.add(of("globex"));
      const { id: two } = await world.add(of("acme"));
      const { id: three } = await world.add(of("globex", { payload: { customer: "globex", region: "us" } }));
      const { id: other } = await world.add(of("globex", { queue: "sms" }));
      const ids = async (query: object): Promise<string[]> => (await world.store.list({ limit: 10, ...query })).jobs.map(({ id }) => id);
      expect(await ids({ facets: { customer: "globex" }, queue: "mail" })).toEqual([three, one]);
      expect(await ids({ facets: { customer: "globex" } })).toEqual([other, three, one]);
      expect(await ids({ facets: { region: "eu", customer: "globex" }, queue: "mail" })).toEqual([one]);
      expect(await ids({ facets: { customer: "acme" }, queue: "mail", status: ["pending"], sort: "state" })).toEqual([two]);
      expect(await ids({ facets: { customer: "globex" }, queue: "mail", q: '"us"' })).toEqual([three]);
      expect(await ids({ facets: { customer: "glob" }, queue: "mail" })).toEqual([]);
      expect(await ids({ facets: { customer: "globex" }, queue: "nowhere" })).toEqual([]);
      expect(await ids({ facets: { nothing: "globex" }, queue: "mail" })).toEqual([]);
      await dieAll(world, "mail");
      expect(await ids({ facets: { customer: "globex" }, queue: "mail", status: ["dead"], sort: "state" })).toEqual([three, one]);
      expect(await ids({ facets: { customer: "globex" }, queue: "mail", status: ["dead"] })).toEqual([three, one]);
      expect(await ids({ facets: { customer: "globex" }, status: ["dead"] })).toEqual([three, one]);
      expect(await ids({ facets: { customer: "globex" }, queue: "mail", status: ["pending"] })).toEqual([]);
      expect(await world.store.count({ facets: { customer: "globex" }, queue: "mail" })).toEqual({ count: 2, isCapped: false });
      expect(await world.store.count({ facets: { customer: "globex" }, status: ["dead"] })).toEqual({ count: 2, isCapped: false });
      const { groups } = await world.store.errorGroups({ status: ["dead"], facets: { customer: "globex" }, limit: 10 });
      expect(groups.map(({ count }) => count)).toEqual([2]);
    });

    keeps("a list over all queues shows each job once, also of queues that are kept together", async (world) => {
      // A delivery queue is in the partition of its queue.
      const { id: one } = await world.add(of("globex"));
      const { id: two } = await world.add(of("globex", { queue: "mail~webhooks" }));
      const { id: three } = await world.add(of("globex"));
      const query = { facets: { customer: "globex" }, internal: true };
      expect((await world.store.list({ ...query, limit: 10 })).jobs.map(({ id }) => id)).toEqual([three, two, one]);
      expect(await idsOfPages(world, { ...query, limit: 1 })).toEqual([three, two, one]);
    });

    keeps("a list walks the index of the facet, in its queue or in all: what other jobs there are does not matter", async (world) => {
      const { id: first } = await world.add(of("initech", { queue: "sms" }));
      const { id: second } = await world.add(of("initech"));
      const { id: third } = await world.add(of("initech", { queue: "push" }));
      const { id: wanted } = await world.add(of("globex"));
      world.clock.advance(1_000);
      const to = world.clock.now();
      await world.addMany(MAX_CANDIDATES + 1, of("acme"));
      const before = { queue: "mail", facets: { region: "eu" }, to };
      expect((await world.store.list({ ...before, limit: 10 })).jobs.map(({ id }) => id)).toEqual([wanted, second]);
      expect(await world.store.count(before)).toEqual({ count: 2, isCapped: false });
      expect((await world.store.list({ queue: "mail", facets: { customer: "globex" }, limit: 10 })).jobs.map(({ id }) => id)).toEqual([
        wanted,
      ]);
      for (const status of [undefined, ["pending"] as const]) {
        expect(await world.store.count({ queue: "mail", facets: { customer: "globex" }, status })).toEqual({ count: 1, isCapped: false });
        const many = await world.store.count({ queue: "mail", facets: { customer: "acme" }, status });
        expect(many).toEqual({ count: MAX_CANDIDATES, isCapped: true });
        expect(await world.store.count({ facets: { customer: "initech" }, status })).toEqual({ count: 3, isCapped: false });
      }
      const inAll = { facets: { customer: "initech" } };
      expect((await world.store.list({ ...inAll, limit: 10 })).jobs.map(({ id }) => id)).toEqual([third, second, first]);
      expect(await idsOfPages(world, { ...inAll, limit: 1 })).toEqual([third, second, first]);
      expect((await world.store.list({ ...inAll, q: "initech", limit: 10 })).jobs).toHaveLength(3);
      expect(await world.store.list({ facets: { customer: "nobody" }, limit: 10 })).toEqual({ jobs: [], cursor: null });
      expect((await world.store.count({ facets: { customer: "acme" } })).isCapped).toBe(true);
    });

    keeps("pages have every job once, with a range of creation times", async (world) => {
      await world.addMany(4, of("globex"));
      world.clock.advance(1_000);
      const from = world.clock.now();
      await world.addMany(4, (index) => of(index % 2 === 0 ? "globex" : "acme"));
      const query = { queue: "mail", facets: { customer: "globex" }, limit: 2 };
      const seen = await idsOfPages(world, query);
      expect(new Set(seen).size).toBe(6);
      expect(seen).toHaveLength(6);
      expect((await world.store.list({ ...query, limit: 10, from })).jobs).toHaveLength(2);
      expect((await world.store.list({ ...query, limit: 10, to: from })).jobs).toHaveLength(4);
    });

    keeps("a job that is removed or pruned leaves the index", async (world) => {
      const { id: removed } = await world.ended("dead", of("globex"));
      await world.ended("completed", of("globex"));
      const { id: stays } = await world.add(of("globex"));
      await world.store.remove([removed], ["dead"]);
      await world.store.prune([{ queue: "mail", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10);
      const { jobs, cursor } = await world.store.list({ queue: "mail", facets: { customer: "globex" }, limit: 10 });
      expect(jobs.map(({ id }) => id)).toEqual([stays]);
      expect(cursor).toBeNull();
      expect(await world.store.count({ queue: "mail", facets: { customer: "globex" } })).toEqual({ count: 1, isCapped: false });
    });

    keeps("an edit by hand changes them with the payload, and their indexes with them", async (world) => {
      const ids = async (customer: string): Promise<string[]> =>
        (await world.store.list({ queue: "mail", facets: { customer }, limit: 10 })).jobs.map(({ id }) => id);
      const wishes = [of("globex"), of("globex", { tags: ["x"], maxRetries: 0 }), { queue: "mail", tags: ["x"] }, of("globex")];
      const jobs = [];
      for (const wish of wishes) jobs.push((await world.ended("dead", wish)).id);
      const [one, two, three, last] = jobs as [string, string, string, string];
      const edited = (facets: Record<string, string> | null): Move => ({ ...RETRY, edit: { payload: "1", facets } });
      await world.store.change([one, two], edited({ customer: "acme" }));
      await world.store.change([three], edited({ customer: "acme", region: "us" }));
      expect(await ids("globex")).toEqual([last]);
      expect(await ids("acme")).toEqual([three, two, one]);
      expect(await world.find(two)).toMatchObject({ facets: { customer: "acme" }, payload: "1", tags: ["x"], maxRetries: 0 });
      expect(await world.find(three)).toMatchObject({ facets: { customer: "acme", region: "us" }, tags: ["x"] });
      for (const id of [one, two, three]) await world.cancel(id);
      await world.store.change([one, two, three], edited(null));
      expect(await ids("acme")).toEqual([]);
      expect(await world.find(two)).toMatchObject({ facets: null, tags: ["x"], maxRetries: 0 });
      await world.cancel(one);
      expect(await world.remove(one)).toMatchObject({ kind: "ok" });
    });

    keeps("values hold any text: long ones, quotes, other scripts, and names with spaces around", async (world) => {
      const texts = ["x".repeat(200), `O'Brien "& Söhne\\" {}[]`, "顧客:1 ", "%_*?", "1e3", "true", " "];
      for (const text of texts) {
        const { id } = await world.add(of(text));
        const { jobs } = await world.store.list({ queue: "mail", facets: { customer: text }, limit: 10 });
        expect(jobs.map((job) => [job.id, job.facets!["customer"]])).toEqual([[id, text]]);
      }
      await dieAll(world, "mail");
      const found = (await values(world)).values.map(({ value }) => value);
      expect(new Set(found)).toEqual(new Set(texts));
    });

    keeps("dead and failed jobs are counted by value", async (world) => {
      await world.addMany(3, of("globex"));
      await world.addMany(2, of("acme", { type: "other", tags: ["x"] }));
      await world.addMany(2, of("initech", { queue: "sms" }));
      await world.add({ queue: "mail" });
      await dieAll(world, "mail");
      await dieAll(world, "sms");
      await world.add(of("globex"));
      const count = (value: string, many: number): object => ({ value, count: many });
      expect(await values(world)).toEqual({
        values: [count("globex", 3), count("acme", 2), count("initech", 2)],
        without: 1,
        isCapped: false,
        hasMore: false,
      });
      expect(await values(world, { limit: 1 })).toEqual({
        values: [count("globex", 3)],
        without: 1,
        isCapped: false,
        hasMore: true,
      });
      expect(await values(world, { queue: "sms" })).toEqual({
        values: [count("initech", 2)],
        without: 0,
        isCapped: false,
        hasMore: false,
      });
      expect((await values(world, { type: "other" })).values).toEqual([count("acme", 2)]);
      expect((await values(world, { tag: "x" })).values).toEqual([count("acme", 2)]);
      expect((await values(world, { facets: { customer: "globex" }, field: "region" })).values).toEqual([count("eu", 3)]);
      expect((await values(world, { status: ["failed"] })).values).toEqual([]);
      expect((await values(world, { endedFrom: world.clock.now() + 1 })).values).toEqual([]);
      const [group] = (await world.store.errorGroups({ status: ["dead"], limit: 1 })).groups;
      expect((await values(world, { group: group!.group })).values).toHaveLength(3);
      expect((await values(world, { group: "000000000000" })).values).toEqual([]);
      for (const field of ["nothing", "constructor"]) {
        expect(await values(world, { field })).toEqual({ values: [], without: 8, isCapped: false, hasMore: false });
      }
    });

    keeps("dead and failed jobs are counted as far as a list looks; only then each count means at least", async (world) => {
      const many = MAX_CANDIDATES / 2 + 1;
      for (const [queue, customer] of [
        ["mail", "globex"],
        ["sms", "acme"],
      ] as const) {
        await world.addMany(many, of(customer, { queue }));
        await dieAll(world, queue);
      }
      const { values: found, ...all } = await values(world);
      expect(all).toEqual({ without: 0, isCapped: true, hasMore: false });
      expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(MAX_CANDIDATES);
      expect(await values(world, { limit: 1 })).toMatchObject({ isCapped: true, hasMore: true });
      const ofMail = { values: [{ value: "globex", count: many }], without: 0, isCapped: false, hasMore: false };
      expect(await values(world, { queue: "mail" })).toEqual(ofMail);
    });

    keeps("the setting of a queue is a text that stays as it is", async (world) => {
      const facets = encodeFacets([{ field: "customer.id", since: 1 }]);
      await world.store.configure("mail", { facets });
      await world.store.configure("mail", { capacity: 5 });
      expect((await world.queue("mail")).settings).toMatchObject({ facets, capacity: 5 });
      await world.store.configure("mail", { facets: null });
      expect((await world.queue("mail")).settings).toMatchObject({ facets: null, capacity: 5 });
    });
  });
}
