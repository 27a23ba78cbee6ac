import { describe, expect } from "vitest";
import type { Filter } from "../../../src/core/filter.ts";
import type { JobError } from "../../../src/core/job.ts";
import { SEARCHED_PAYLOAD_BYTES } from "../../../src/core/search.ts";
import { type ListQuery, MAX_CANDIDATES } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

/** The ids that a search finds, over all of its pages, newest first. */
async function found(world: World, q: string, query: Omit<ListQuery, "limit" | "q"> = {}): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page = await world.store.list({ limit: 3, ...query, q, cursor: cursor ?? undefined });
    ids.push(...page.jobs.map(({ id }) => id));
    cursor = page.cursor;
    expect(++pages, "a search must come to an end").toBeLessThan(100);
  } while (cursor !== null);
  return ids;
}

async function failWith(world: World, error: Partial<JobError>): Promise<string> {
  const lease = await world.running();
  await world.settle(lease, { kind: "discard", error: { name: "Error", message: "", stack: null, kind: "error", ...error }, runMs: 1 });
  return lease.id;
}

export function searchSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("a search", () => {
    keeps("looks into id, type, tags, key and payload, and into nothing else", async (world) => {
      const byType = await world.add({ type: "mail:send" });
      const byTag = await world.add({ tags: ["first", "second needle"] });
      const byKey = await world.add({ idempotencyKey: "order-4711" });
      const byPayload = await world.add({ payload: { to: "ada@example.com", lines: [1, { deep: "hidden" }] } });
      await world.add({ queue: "elsewhere", meta: { note: "in the meta" }, webhookUrl: "https://example.org/hook" });
      expect(await found(world, "mail:s")).toEqual([byType.id]);
      expect(await found(world, "needle")).toEqual([byTag.id]);
      expect(await found(world, "-4711")).toEqual([byKey.id]);
      expect(await found(world, "ada@example")).toEqual([byPayload.id]);
      expect(await found(world, '[1,{"deep":"hid')).toEqual([byPayload.id]);
      for (const nowhere of ["in the meta", "example.org", "elsewhere", "tags", "webhookUrl"])
        expect(await found(world, nowhere)).toEqual([]);
    });

    keeps("looks into the name and the message of an error, and not into its stack", async (world) => {
      const id = await failWith(world, { name: "TypeError", message: 'no "field"\nof that name', stack: "at secret.ts:1" });
      await failWith(world, { message: "another" });
      for (const q of ["typeerr", '"field"', "\nof that"]) expect(await found(world, q)).toEqual([id]);
      for (const q of ["secret.ts", '\\"field', "\\n", "kind"]) expect(await found(world, q)).toEqual([]);
    });

    keeps("finds a part of an id, and the whole of it", async (world) => {
      const jobs = await world.addMany(20, (index) => ({ queue: `q${index % 3}` }));
      const { id } = jobs[7]!;
      expect(await found(world, id)).toEqual([id]);
      expect(await found(world, id.slice(5, 30).toUpperCase())).toContain(id);
      expect(await found(world, id.slice(-12))).toEqual([id]);
      expect(await found(world, `${id}0`)).toEqual([]);
    });

    keeps("takes A to Z in either case, and every other character for itself alone", async (world) => {
      const upper = await world.add({ type: "t", payload: "ÉCLAIR Straße İ ſ \u212a [x]_% ^.*" });
      expect(await found(world, "Éclair sTRAße")).toEqual([upper.id]);
      for (const other of ["éclair", "STRASSE", "i̇", "[y]", "_X", "clair.stra", "\\u0045"]) expect(await found(world, other)).toEqual([]);
      for (const literal of ["[x]_% ^.*", "%", "_", ".*", "ſ", "\u212a"]) expect(await found(world, literal)).toEqual([upper.id]);
      // The Kelvin sign is no K, and the long s no s.
      for (const other of ["ſt", "k"]) expect(await found(world, other)).toEqual([]);
    });

    keeps("takes quotes, backslashes and control characters of tags and keys as they were given", async (world) => {
      const tagged = await world.add({ tags: ['say "hi" \\ there', "tab\there"] });
      const keyed = await world.add({ idempotencyKey: 'key "of" \\ one' });
      expect(await found(world, '"HI" \\ ')).toEqual([tagged.id]);
      expect(await found(world, "b\th")).toEqual([tagged.id]);
      expect(await found(world, '"of" \\')).toEqual([keyed.id]);
      for (const escaped of ['\\"hi', "b\\th", "\\\\"]) expect(await found(world, escaped)).toEqual([]);
    });

    keeps("reads the first 16 KiB of a payload, and no byte more", async (world) => {
      // The quote that opens the text is its first byte.
      const fill = (bytes: number): string => "x".repeat(bytes - 1);
      const last = await world.add({ payload: `${fill(SEARCHED_PAYLOAD_BYTES - 6)}needle and more` });
      const beyond = await world.add({ payload: `${fill(SEARCHED_PAYLOAD_BYTES - 5)}needle and more` });
      const wide = "é".repeat(SEARCHED_PAYLOAD_BYTES / 2 - 4);
      const lastWide = await world.add({ payload: `x${wide}needle${"é".repeat(60_000)}` });
      await world.add({ payload: `xy${wide}needle${"é".repeat(60_000)}` });
      const large = await world.add({ payload: `needle${"y".repeat(500_000)}` });
      expect(await found(world, "needle")).toEqual([large.id, lastWide.id, last.id]);
      expect(await found(world, "xneedl")).toEqual([beyond.id, last.id]);
    });

    keeps("goes with every other filter", async (world) => {
      const jobs = await world.addMany(12, (index) => ({ type: `t${index % 2}`, queue: `q${index % 3}`, payload: `mark ${index % 4}` }));
      const hits = (test: (index: number) => boolean): string[] => jobs.flatMap(({ id }, index) => (test(index) ? [id] : [])).reverse();
      await world.cancel(jobs[4]!.id);
      await world.cancel(jobs[5]!.id);
      expect(await found(world, "MARK 1")).toEqual(hits((index) => index % 4 === 1));
      expect(await found(world, "mark 1", { type: "t1", queue: "q0" })).toEqual(hits((index) => index === 9));
      expect(await found(world, "mark 0", { status: ["cancelled"] })).toEqual([jobs[4]!.id]);
      expect(await found(world, "mark 1", { status: ["cancelled", "running"] })).toEqual([jobs[5]!.id]);
      expect(await found(world, "mark 1", { status: ["pending"] })).toEqual(hits((index) => index % 4 === 1 && index !== 5));
      expect(await found(world, "mark", { from: world.clock.now() + 1 })).toEqual([]);
    });

    keeps("is counted as it is listed, with all other filters", async (world) => {
      const jobs = await world.addMany(40, (index) => ({
        type: `t${index % 2}`,
        queue: `q${index % 3}`,
        priority: index % 5,
        tags: index % 4 === 0 ? ["four", "tags"] : [],
        payload: index % 8 === 0 ? "eight" : "error",
      }));
      for (const job of jobs.slice(0, 10)) await world.cancel(job.id);
      const dead = await failWith(world, { message: "eight" });
      const now = world.clock.now();
      const filters: Filter[] = [
        {},
        { status: ["pending"] },
        { status: ["cancelled", "dead"] },
        { status: [] },
        { type: "t1" },
        { type: "none" },
        { queue: "q2" },
        { queue: "none" },
        { priority: { min: 2, max: 3 } },
        { tag: "four" },
        { tag: "tags" },
        { tag: "none" },
        { q: "EIGHT" },
        { q: "tags" },
        { q: "kind" },
        { q: "error", status: ["dead"] },
        { q: "e", type: "t1" },
        { q: "eight", from: now },
        { from: now },
        { to: now },
        { q: dead.slice(-10) },
        { group: (await world.find(dead)).error!.group },
      ];
      for (const filter of filters) {
        const { jobs: listed } = await world.store.list({ ...filter, limit: 1_000 });
        expect({ filter, ...(await world.store.count(filter)) }).toEqual({ filter, count: listed.length, isCapped: false });
      }
    });

    keeps("that looked at many jobs in vain still leads to the one that matches", async (world) => {
      const wanted = await world.add({ payload: "wanted" });
      await world.addMany(MAX_CANDIDATES + 500, (index) => ({ priority: index % 3 }));
      const first = await world.store.list({ limit: 10, q: "wanted" });
      expect(first.jobs).toEqual([]);
      expect(first.cursor).not.toBeNull();
      expect(await world.store.count({ q: "wanted" })).toEqual({ count: 0, isCapped: true });
      expect(await world.store.count({ type: "task" })).toMatchObject({ isCapped: true });
      expect((await world.store.count({ priority: { min: 0, max: 0 } })).count).toBeGreaterThan(3_000);
      expect(await found(world, "wanted")).toEqual([wanted.id]);
    });

    keeps("over payloads of a megabyte goes on from page to page", async (world) => {
      const big = "z".repeat(1_000_000);
      const jobs = await world.addMany(24, (index) => ({ payload: `${index % 8 === 0 ? "needle" : "hay"}${big}` }));
      expect(await found(world, "needle")).toEqual([jobs[16]!.id, jobs[8]!.id, jobs[0]!.id]);
    });
  });
}
