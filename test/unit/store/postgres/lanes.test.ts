import { describe, expect, test } from "vitest";
import type { NewJob } from "../../../../src/core/job.ts";
import type { Claim, Store } from "../../../../src/store/store.ts";
import { claimOf, freshUrl, jobOf, openStoreOn, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

/** Beyond 64 lanes a claim looks only at those that hold a job. Each type and priority is a lane. */
const TYPES = Array.from({ length: 100 }, (_, number) => `t${number}`);
const PRIORITIES = [0, 20, -10] as const;

/** Jobs over all types, in no order of their lanes. */
function jobsOf(count: number): NewJob[] {
  return Array.from({ length: count }, (_, number) => {
    return jobOf({ priority: PRIORITIES[number % PRIORITIES.length]! }, TYPES[(number * 37) % TYPES.length]);
  });
}

function inOrder(jobs: readonly NewJob[]): string[] {
  return jobs.toSorted((one, other) => other.priority - one.priority).map(({ id }) => id);
}

let turn = 0;

async function claim(store: Store, change: Partial<Claim>): Promise<string[]> {
  const { claimed } = await store.exchange([], [claimOf({ turn: ++turn, ...change })]);
  return claimed[0]!.map(({ id }) => id);
}

/** Claims until nothing is left. */
async function claimAll(store: Store, change: Partial<Claim>): Promise<string[]> {
  const taken: string[] = [];
  for (;;) {
    const some = await claim(store, change);
    if (some.length === 0) return taken;
    taken.push(...some);
  }
}

describe("a claim over three hundred lanes", () => {
  test.each([
    ["of types that it names", TYPES],
    ["of any type", "*"],
  ] as const)("%s takes jobs in the order of all of them, however few it wants", async (_what, types) => {
    const store = await openStoreOn(freshUrl(server()));
    const jobs = jobsOf(700);
    await store.insert(jobs);
    const order = inOrder(jobs);
    expect(await claim(store, { types, limit: 1 })).toEqual(order.slice(0, 1));
    expect(await claim(store, { types, limit: 350 })).toEqual(order.slice(1, 351));
    expect(await claimAll(store, { types, limit: 37 })).toEqual(order.slice(351));
  });

  test("of which few hold jobs, or none, takes what there is", async () => {
    const store = await openStoreOn(freshUrl(server()));
    await store.insert(jobsOf(300));
    await claimAll(store, { limit: 300 });
    expect(await claim(store, { types: TYPES })).toEqual([]);
    const few = [jobOf({}, "t99"), jobOf({ priority: 20 }, "t3"), jobOf({}, "t98"), jobOf({}, "t99")];
    await store.insert(few);
    expect(await claim(store, { types: TYPES })).toEqual(inOrder(few));
  });

  test("leaves types alone that it does not name, and other queues", async () => {
    const store = await openStoreOn(freshUrl(server()));
    const jobs = [...jobsOf(300), jobOf({}, "foreign"), jobOf({ queue: "other" }, "t1")];
    await store.insert(jobs);
    expect(await claimAll(store, { types: TYPES, limit: 100 })).toEqual(inOrder(jobs.slice(0, 300)));
    expect(await claim(store, { queues: ["default", "other"] })).toEqual(jobs.slice(300).map(({ id }) => id));
  });

  test("beside other claims takes no job twice, and together they leave none", async () => {
    const url = freshUrl(server());
    const stores = await Promise.all([openStoreOn(url), openStoreOn(url), openStoreOn(url)]);
    const jobs = jobsOf(900);
    await stores[0].insert(jobs);
    const taken = await Promise.all(stores.map((store, number) => claimAll(store, { workerId: `w${number}`, types: TYPES, limit: 7 })));
    expect(taken.flat().toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
  });
});
