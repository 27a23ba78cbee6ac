import { describe, expect, test } from "vitest";
import type { NewJob } from "../../../../src/core/job.ts";
import { JOB_DEFAULTS, createJob } from "../../../../src/core/job-options.ts";
import { CANCEL } from "../../../../src/core/lifecycle.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { openMemoryStore } from "../../../../src/store/memory/memory-store.ts";
import type { Store } from "../../../../src/store/store.ts";

const nextId = idMaker(() => Date.now());

function newJob(options: Partial<NewJob> = {}): NewJob {
  return { ...createJob(nextId(0), "task", { n: 1 }, JOB_DEFAULTS), ...options };
}

function openStore(): Store {
  return openMemoryStore({ clock: systemClock });
}

const CLAIM = { workerId: "w", queues: ["default"], types: "*", limit: 10, leaseMs: 1_000, turn: 1, again: false, local: true } as const;

describe("what the memory store gives out and takes in", () => {
  test("a record that was given out does not change with the job", async () => {
    const store = openStore();
    const job = newJob();
    await store.insert([job]);
    const [before] = await store.find([job.id]);
    const kept = structuredClone(before);
    const { claimed } = await store.exchange([], [CLAIM]);
    const [lease] = claimed[0]!;
    const leased = structuredClone(lease);
    await store.note([{ id: job.id, fence: 1, progress: { percent: 5, note: null }, lines: ["a line"] }]);
    await store.extend([{ id: job.id, fence: 1, leaseMs: 9_000 }]);
    expect(before).toEqual(kept);
    expect(lease).toEqual(leased);
  });

  test("what a caller does to its own values later does not reach the store", async () => {
    const store = openStore();
    const tags = ["one"];
    const job = newJob({ tags });
    await store.insert([job]);
    tags.push("two");
    await store.exchange([], [CLAIM]);
    const progress = { percent: 5, note: "begun" };
    await store.note([{ id: job.id, fence: 1, progress, lines: [] }]);
    progress.percent = 99;
    const retention = { ageMs: 1, count: 1, keepAtLeastMs: 1 };
    await store.configure("default", { retention });
    retention.count = 99;
    expect(await store.find([job.id])).toMatchObject([{ tags: ["one"], progress: { percent: 5 } }]);
    expect((await store.queues())[0]!.settings.retention.count).toBe(1);
  });
});

describe("claims over many lanes", () => {
  test("come in rank order over types and priorities, by the head start of the moment", async () => {
    const store = openStore();
    const jobs = Array.from({ length: 300 }, (_, index) => newJob({ type: `t${index % 7}`, priority: ((index * 37) % 201) - 100 }));
    await store.insert(jobs);
    const strict = jobs.map((job, index) => ({ job, index })).sort((a, b) => b.job.priority - a.job.priority || a.index - b.index);
    const { claimed } = await store.exchange([], [{ ...CLAIM, limit: 100 }]);
    expect(claimed[0]!.map(({ id }) => id)).toEqual(strict.slice(0, 100).map(({ job }) => job.id));

    await store.configure("default", { headStartMs: 0 });
    expect(await store.rerank("default", 1)).toBe(false);
    const left = strict.slice(100).sort((a, b) => a.index - b.index);
    const { claimed: rest } = await store.exchange(
      [],
      [{ ...CLAIM, types: ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t0"], limit: 1_000 }],
    );
    expect(rest[0]!.map(({ id }) => id)).toEqual(left.map(({ job }) => job.id));
  });
});

describe("a claim whose answer was lost", () => {
  test("is given again, instead of other jobs, while what it took still runs", async () => {
    const store = openStore();
    const jobs = Array.from({ length: 6 }, () => newJob());
    await store.insert(jobs);
    const claim = { ...CLAIM, limit: 2 };
    const claimAgain = async (): Promise<string[]> => {
      const { claimed } = await store.exchange([], [{ ...claim, again: true }]);
      return claimed[0]!.map(({ id, fence, attempt }) => `${jobs.findIndex((job) => job.id === id)}: ${fence}, ${attempt}`);
    };
    await store.exchange([], [claim, { ...claim, turn: 2 }]);
    expect(await claimAgain()).toEqual(["0: 1, 1", "1: 1, 1"]);
    await store.change([jobs[0]!.id], CANCEL);
    expect(await claimAgain()).toEqual(["1: 1, 1"]);
    await store.change([jobs[1]!.id], CANCEL);
    // A repeat was here before: what is free is for the next turn.
    expect(await claimAgain()).toEqual([]);
    expect((await store.exchange([], [{ ...claim, turn: 3 }])).claimed[0]!.map(({ id }) => id)).toEqual([jobs[4]!.id, jobs[5]!.id]);
  });
});

describe("after close", () => {
  test("verbs fail with `closed`, and a second close is as good as the first", async () => {
    const store = openStore();
    await store.close();
    await store.close();
    await expect(store.insert([newJob()])).rejects.toMatchObject({ code: "closed" });
    await expect(store.publish([])).rejects.toMatchObject({ code: "closed" });
    expect(store.within({})).toBeNull();
  });
});
