import type { JobRecord, NewJob } from "../../src/core/job.ts";
import { fingerprint } from "../../src/core/unique.ts";
import { idMaker } from "../../src/lib/id.ts";
import type { InsertAnswer, Store } from "../../src/store/store.ts";
import type { Random } from "../simulation/random.ts";
import { changed, hasQueue, type PlantedBug } from "./planted-bug.ts";

/** Inserts one by one, each in another way. */
function insertingOtherwise(inner: Store, otherwise: (job: NewJob) => Promise<InsertAnswer>): Store {
  return changed(inner, {
    insert: async (jobs) => {
      const answers: InsertAnswer[] = [];
      for (const job of jobs) answers.push(await otherwise(job));
      return answers;
    },
  });
}

async function insertOne(inner: Store, job: NewJob): Promise<InsertAnswer> {
  return (await inner.insert([job]))[0]!;
}

export const entryBugs: readonly PlantedBug[] = [
  {
    name: "a job is acknowledged before it is stored, and sometimes never is",
    breaks: ["I1"],
    store: (inner, { random }) =>
      insertingOtherwise(inner, async (job) => {
        if (random.chance(0.9)) return insertOne(inner, job);
        const { now } = await inner.schedules([]);
        return { kind: "created", status: "pending", createdAt: now, runAt: now };
      }),
  },
  {
    name: "a job that is sent again is another job",
    breaks: ["I2"],
    needs: ({ faults }) => faults.has("resend"),
    store: (inner, { random }) => {
      const createId = idMaker(() => 1, random.fill);
      return insertingOtherwise(inner, async (job) => {
        const [same] = await inner.find([job.id]);
        return insertOne(inner, same === null ? job : { ...job, id: createId(0), idempotencyKey: null });
      });
    },
  },
  {
    name: "a handler is given the payload of another job",
    breaks: ["I2"],
    store: (inner) => {
      let last = "null";
      return changed(inner, {
        exchange: async (settlements, claims) => {
          const { settled, claimed } = await inner.exchange(settlements, claims);
          return { settled, claimed: claimed.map((jobs) => jobs.map((job) => ({ ...job, payload: exchangeFor(job.payload) }))) };
        },
      });
      function exchangeFor(payload: string): string {
        const other = last === "null" ? payload : last;
        last = payload;
        return other;
      }
    },
  },
  {
    name: "a refused job leaves its key behind",
    breaks: ["I12"],
    needs: (plan) => hasQueue(plan, "capacity") && plan.traits.has("keys"),
    store: (inner) => {
      const keys = new Map<string, string>();
      return insertingOtherwise(inner, async (job) => {
        const name = `${job.queue} ${job.idempotencyKey}`;
        const holder = keys.get(name);
        if (job.idempotencyKey !== null && holder !== undefined) return { kind: "pruned", id: holder, status: "pending" };
        const answer = await insertOne(inner, job);
        if (job.idempotencyKey !== null && answer.kind === "full") keys.set(name, job.id);
        return answer;
      });
    },
  },
  {
    name: "a key dies with the end of its job",
    breaks: ["I12"],
    needs: ({ traits }) => traits.has("keys"),
    store: (inner) => insertingOtherwise(inner, (job) => insertOne(inner, { ...job, keyTtlMs: 0 })),
  },
  {
    name: "keys are not looked at",
    breaks: ["I12"],
    needs: ({ traits }) => traits.has("keys"),
    store: (inner) =>
      changed(inner, {
        insert: (jobs) => inner.insert(jobs.map((job) => ({ ...job, idempotencyKey: null, fingerprint: null }))),
      }),
  },
  {
    name: "another request under a known key is taken for the same",
    breaks: ["I12"],
    needs: ({ traits }) => traits.has("keys"),
    store: (inner) =>
      changed(inner, {
        insert: (jobs) => inner.insert(jobs.map((job) => ({ ...job, fingerprint: job.idempotencyKey === null ? null : "same" }))),
      }),
  },
  {
    name: "capacity is not looked at",
    breaks: ["I17"],
    needs: (plan) => hasQueue(plan, "capacity"),
    store: (inner) =>
      insertingOtherwise(inner, async (job) => {
        const answer = await insertOne(inner, job);
        if (answer.kind !== "full") return answer;
        await inner.configure(job.queue, { capacity: null });
        const forced = await insertOne(inner, job);
        await inner.configure(job.queue, { capacity: answer.capacity });
        return forced;
      }),
  },
  {
    name: "due times are reckoned by the caller's clock",
    breaks: ["I8"],
    needs: ({ traits, skewMs }) => traits.has("delays") && skewMs > 0,
    storeFor: (store, process) =>
      changed(store, {
        insert: (jobs) => {
          return store.insert(
            jobs.map((job) => (job.delayMs === 0 ? job : { ...job, delayMs: 0, runAt: process.clock.now() + job.delayMs })),
          );
        },
      }),
  },
  {
    name: "promotion takes a job out and puts it in again, and dies in between",
    breaks: ["I1"],
    needs: ({ traits }) => traits.has("delays"),
    store: (inner, { random }) => changed(inner, { promote: (limit) => promoteInTwoSteps(inner, random, limit) }),
  },
  {
    name: "jobs are promoted before they are due",
    breaks: ["I8"],
    needs: ({ traits }) => traits.has("delays"),
    store: (inner) =>
      changed(inner, {
        insert: (jobs) => inner.insert(jobs.map((job) => ({ ...job, delayMs: Math.max(0, job.delayMs - 1_000) }))),
      }),
  },
];

async function promoteInTwoSteps(inner: Store, random: Random, limit: number): ReturnType<Store["promote"]> {
  const { now } = await inner.schedules([]);
  const { jobs } = await inner.list({ status: ["scheduled"], limit: 1_000 });
  const due = await inner.find(jobs.filter(({ runAt, fence }) => runAt <= now && fence === 0).map(({ id }) => id));
  for (const job of due) {
    await inner.remove([job!.id], ["scheduled"]);
    if (random.chance(0.8)) await inner.insert([newJobOf(job!)]);
  }
  return inner.promote(limit);
}

function newJobOf(record: JobRecord): NewJob {
  const { idempotencyKey, type, payload } = record;
  return { ...record, delayMs: 0, fingerprint: idempotencyKey === null ? null : fingerprint(type, payload) };
}
