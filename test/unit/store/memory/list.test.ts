import { describe, expect, test } from "vitest";
import type { NewJob, Status } from "../../../../src/core/job.ts";
import { JOB_DEFAULTS, createJob } from "../../../../src/core/job-options.ts";
import { CANCEL } from "../../../../src/core/lifecycle.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { openMemoryStore } from "../../../../src/store/memory/memory-store.ts";
import { type ListQuery, MAX_CANDIDATES, type Store } from "../../../../src/store/store.ts";

const nextId = idMaker(() => Date.now());
const NO_KEEP = { queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 };

function openStore(): Store {
  return openMemoryStore({ clock: systemClock });
}

async function addJobs(store: Store, count: number, queue = "default"): Promise<NewJob[]> {
  const jobs = Array.from({ length: count }, () => createJob(nextId(0), "task", null, { ...JOB_DEFAULTS, queue }));
  await store.insert(jobs);
  return jobs;
}

async function cancel(store: Store, jobs: readonly NewJob[]): Promise<void> {
  const ids = jobs.map(({ id }) => id);
  await store.change(ids, CANCEL);
}

async function listAll(store: Store, query: Omit<ListQuery, "cursor">): Promise<{ ids: string[]; calls: number }> {
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let calls = 1; ; calls++) {
    const page = await store.list({ ...query, cursor });
    ids.push(...page.jobs.map(({ id }) => id));
    if (page.cursor === null) return { ids, calls };
    cursor = page.cursor;
  }
}

const newestFirst = (jobs: readonly NewJob[]): string[] => jobs.map(({ id }) => id).reverse();

describe("a list over many pages of jobs", () => {
  test("sees every job once, newest first, and knows its last page", async () => {
    const store = openStore();
    const jobs = await addJobs(store, 1_000);
    expect(await listAll(store, { limit: 100 })).toEqual({ ids: newestFirst(jobs), calls: 10 });
    expect((await listAll(store, { limit: 99 })).ids).toEqual(newestFirst(jobs));
  });

  test("steps over what was removed: single jobs, whole pages, and the newest page of all", async () => {
    const store = openStore();
    const jobs = await addJobs(store, 2_000);
    const gone = new Set([...jobs.slice(0, 300), ...jobs.slice(700, 1_400), ...jobs.slice(1_700)]);
    for (let index = 0; index < jobs.length; index += 7) gone.add(jobs[index]!);
    await cancel(store, [...gone]);
    expect(await store.prune([NO_KEEP], 10_000)).toEqual({ removed: gone.size });
    const later = await addJobs(store, 300);
    const kept = [...jobs.filter((job) => !gone.has(job)), ...later];
    expect((await listAll(store, { limit: 50 })).ids).toEqual(newestFirst(kept));
  });

  test("finds the few of a status behind many others without a look at those", async () => {
    const store = openStore();
    const jobs = await addJobs(store, 1_000);
    for (let round = 0; round < 2 * (MAX_CANDIDATES / 1_000); round++) await addJobs(store, 1_000);
    const few = jobs.filter((_, index) => index % 100 === 0);
    await cancel(store, few);
    expect(await listAll(store, { status: ["cancelled", "dead"], limit: 50 })).toEqual({ ids: newestFirst(few), calls: 1 });
    expect(await listAll(store, { status: ["failed"] satisfies Status[], limit: 50 })).toEqual({ ids: [], calls: 1 });
  });

  test("looks at so many and no more before it answers", async () => {
    const store = openStore();
    const [first] = await addJobs(store, 1, "rare");
    for (let round = 0; round < MAX_CANDIDATES / 1_000; round++) await addJobs(store, 1_000);
    expect(await listAll(store, { queue: "rare", limit: 50 })).toEqual({ ids: [first!.id], calls: 2 });
  });

  test("refuses a cursor that it did not give out", async () => {
    const store = openStore();
    await addJobs(store, 10);
    for (const cursor of ["", "m", "m0", "mb", "M1", "m-1", "m1.5", "1", "m01", "s1", "m1 ", `m${"z".repeat(12)}`]) {
      await expect(store.list({ limit: 1, cursor })).rejects.toMatchObject({ code: "invalid_cursor" });
    }
  });
});
