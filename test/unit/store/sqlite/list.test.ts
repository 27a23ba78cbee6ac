import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { JOB_DEFAULTS, createJob } from "../../../../src/core/job-options.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/sqlite-store.ts";
import { temporaryFile } from "./temporary-file.ts";

const newId = idMaker(() => Date.now());
const jobIn = (queue: string, type = "t"): ReturnType<typeof createJob> =>
  createJob(newId(partitionOf(queue)), type, null, { ...JOB_DEFAULTS, queue });

test("the few pending jobs of a queue are found behind the many of another", async () => {
  const store = await openSqliteStore(`sqlite:${temporaryFile()}`, { clock: systemClock, deadlineMs: 1000 });
  const few = jobIn("small");
  await store.insert([few]);
  for (let batch = 0; batch < 11; batch++) await store.insert(Array.from({ length: 1000 }, () => jobIn("big")));
  const { jobs, cursor } = await store.list({ status: ["pending"], queue: "small", limit: 10 });
  expect([jobs.map(({ id }) => id), cursor]).toEqual([[few.id], null]);
  await store.close();
});

test("a facet's index has each job once and loses it with the job; what an older version leaves there does no harm", async () => {
  const path = temporaryFile();
  const store = await openSqliteStore(`sqlite:${path}`, { clock: systemClock, deadlineMs: 1000 });
  const of = (customer: string): ReturnType<typeof createJob> => ({ ...jobIn("mail"), facets: { customer, region: "eu" } });
  const jobs = ["globex", "acme", "globex"].map(of);
  // It looks like the facets of a job, but is none.
  const plain = { ...jobIn("mail"), tags: ["facets"], meta: '{"facets":{"customer":"globex"}}' };
  await store.insert([...jobs, plain]);
  await store.insert(jobs);
  const db = new DatabaseSync(path);
  const entries = (): string[] =>
    db
      .prepare("select field, value, seq from millrace_facet")
      .all()
      .map((row) => Object.values(row).join(" "));
  expect(entries()).toEqual(["customer acme 2", "customer globex 1", "customer globex 3", "region eu 1", "region eu 2", "region eu 3"]);
  await store.remove([jobs[0]!.id, plain.id], ["pending"]);
  expect(entries()).toEqual(["customer acme 2", "customer globex 3", "region eu 2", "region eu 3"]);
  // As an older version deletes a job. The next one gets its sequence.
  db.exec("delete from millrace_job where seq = 3");
  const next = of("initech");
  await store.insert([next]);
  expect(entries()).toContain("customer initech 3");
  const found = async (facets: Record<string, string>): Promise<string[]> =>
    (await store.list({ queue: "mail", facets, limit: 10 })).jobs.map(({ id }) => id);
  expect(await found({ customer: "globex" })).toEqual([]);
  expect(await found({ customer: "initech" })).toEqual([next.id]);
  expect(await found({ region: "eu" })).toEqual([next.id, jobs[1]!.id]);
  db.close();
  await store.close();
});

test("a claim of any type looks only at lanes that hold a job, also when there were many types", async () => {
  const store = await openSqliteStore(`sqlite:${temporaryFile()}`, { clock: systemClock, deadlineMs: 1000 });
  const claim = { workerId: "w", queues: ["default"], types: "*", limit: 1000, leaseMs: 1000, turn: 1, again: false, local: true } as const;
  const jobs = Array.from({ length: 200 }, (_, index) => jobIn("default", `type-${index}`));
  await store.insert(jobs);
  const { claimed } = await store.exchange([], [claim]);
  expect(claimed[0]?.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
  const late = jobIn("default", "type-7");
  await store.insert([jobIn("other", "type-7"), late]);
  expect((await store.exchange([], [claim])).claimed[0]?.map(({ id }) => id)).toEqual([late.id]);
  await store.close();
});
