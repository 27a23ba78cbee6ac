import { type Status, TERMINAL } from "../../src/core/job.ts";
import { CANCEL, RETRY } from "../../src/core/lifecycle.ts";
import type { Claim, Store } from "../../src/store/store.ts";
import { changed, hasQueue, type PlantedBug } from "./planted-bug.ts";

export const upkeepBugs: readonly PlantedBug[] = [
  {
    name: "a running job is told to be cancelled, and goes on",
    breaks: ["I16"],
    needs: ({ hasOperator, traits }) => hasOperator && traits.has("long"),
    store: (inner) =>
      changed(inner, {
        change: async (ids, move) => {
          const jobs = await inner.find(ids);
          const isIgnored = (index: number): boolean => move === CANCEL && jobs[index]?.status === "running";
          const answers = await inner.change(
            ids.filter((_, index) => !isIgnored(index)),
            move,
          );
          return ids.map((_, index) =>
            isIgnored(index) ? { kind: "ok", was: "running", job: { ...jobs[index]!, status: "cancelled" } } : answers.shift()!,
          );
        },
      }),
  },
  {
    name: "what has ended can be cancelled",
    breaks: ["I5", "I16"],
    needs: ({ hasOperator }) => hasOperator,
    store: (inner) =>
      changed(inner, { change: (ids, move) => inner.change(ids, move === CANCEL ? { ...move, from: [...move.from, "completed"] } : move) }),
  },
  {
    name: "a job can be removed while it waits or runs",
    breaks: ["I1"],
    needs: ({ hasOperator }) => hasOperator,
    store: (inner) =>
      changed(inner, {
        remove: (ids, from) => inner.remove(ids, from === TERMINAL ? ["pending", "running", "retrying", "scheduled", ...from] : from),
      }),
  },
  {
    name: "dead jobs come back to life by themselves",
    breaks: ["I5", "I14"],
    needs: ({ traits }) => traits.has("discards"),
    store: (inner, { random }) =>
      changed(inner, {
        promote: async (limit) => {
          const { jobs } = await inner.list({ status: ["dead"], limit: 10 });
          await inner.change(
            random.some(jobs, 0.05).map(({ id }) => id),
            RETRY,
          );
          return inner.promote(limit);
        },
      }),
  },
  {
    name: "what is not finished is pruned",
    breaks: ["I1"],
    store: (inner, { random }) =>
      changed(inner, {
        prune: async (rules, limit) => {
          const { jobs } = await inner.list({ status: ["pending", "scheduled", "retrying"], limit: 10 });
          const ids = random.some(jobs, 0.5).map(({ id }) => id);
          const { removed } = await inner.prune(rules, limit);
          await inner.remove(ids, ["pending", "scheduled", "retrying"] satisfies Status[]);
          return { removed: removed + ids.length };
        },
      }),
  },
  {
    name: "jobs are pruned before those who wait for them could look",
    breaks: ["I1"],
    needs: (plan) => !hasQueue(plan, "retention"),
    store: (inner) =>
      changed(inner, {
        prune: (rules, limit) =>
          inner.prune(
            rules.map((rule) => ({ ...rule, ageMs: 0, keepAtLeastMs: 0 })),
            limit,
          ),
      }),
  },
  {
    name: "a paused queue gives jobs",
    breaks: ["pause"],
    needs: ({ hasOperator }) => hasOperator,
    store: (inner) =>
      changed(inner, { exchange: (settlements, claims) => withoutPauses(inner, claims, () => inner.exchange(settlements, claims)) }),
  },
  {
    name: "the lowest priority goes first",
    breaks: ["I9"],
    needs: ({ traits, queues }) => traits.has("priorities") && Object.values(queues).some(({ headStart }) => headStart === undefined),
    store: (inner) => rankingBy(inner, (priority) => -priority),
  },
  {
    name: "the last in goes first",
    breaks: ["I10"],
    needs: ({ traits }) => !traits.has("priorities"),
    store: (inner) => {
      let sent = -100;
      return rankingBy(inner, () => Math.min(100, sent++));
    },
  },
  {
    name: "a head start is as long as can be",
    breaks: ["I11"],
    needs: (plan) => hasQueue(plan, "headStart") && plan.traits.has("priorities"),
    store: (inner) => changed(inner, { configure: (queue, change) => inner.configure(queue, { ...change, headStartMs: undefined }) }),
  },
  {
    name: "a tick that somebody took is taken again",
    breaks: ["I13"],
    needs: ({ schedules, workers }) => schedules.length > 0 && workers.length > 1,
    store: (inner) =>
      changed(inner, {
        tick: async (ticks) => {
          const answers = await inner.tick(ticks);
          const again = ticks.filter(({ job, tick }, index) => answers[index] === "stale" && job !== null && tick !== null);
          if (again.length > 0) await inner.insert(again.map(({ job }) => job!));
          return answers.map(() => "ticked");
        },
      }),
  },
  {
    name: "every other tick is left out",
    breaks: ["I13"],
    needs: ({ schedules }) => schedules.some(({ every }) => every !== undefined),
    store: (inner) =>
      changed(inner, {
        tick: (ticks) => {
          return inner.tick(
            ticks.map((tick) =>
              tick.tick === null || tick.nextTick === null ? tick : { ...tick, nextTick: 2 * tick.nextTick - tick.tick },
            ),
          );
        },
      }),
  },
  {
    name: "tallies drift from what there is",
    breaks: ["I15"],
    store: (inner) =>
      changed(inner, {
        queues: async () => {
          const drifted = (status: Status, count: number): number => (status === "completed" ? Math.ceil(count * 0.95) - 1 : count);
          return (await inner.queues()).map((queue) => ({
            ...queue,
            counts: queue.counts.map((row) => ({ ...row, count: drifted(row.status, row.count) })),
          }));
        },
      }),
  },
  {
    name: "totals begin again now and then",
    breaks: ["I15"],
    store: (inner) =>
      changed(inner, {
        counters: async (query) => {
          const { now, rows } = await inner.counters(query);
          return { now, rows: rows.map((row) => ({ ...row, counts: { ...row.counts, enqueued: (row.counts.enqueued ?? 0) % 10 } })) };
        },
      }),
  },
  {
    name: "hints are not asked for again after they were lost, and nobody looks without them",
    breaks: ["I8", "I20"],
    pollMs: 1e9,
    store: (inner) =>
      changed(inner, {
        watch: (listener) => {
          let heard = 0;
          return inner.watch((hint) => {
            if (heard++ < 20) listener(hint);
          });
        },
      }),
  },
];

/** A claim that does not look whether a queue is paused. */
async function withoutPauses<Answer>(inner: Store, claims: readonly Claim[], run: () => Promise<Answer>): Promise<Answer> {
  const asked = new Set(claims.flatMap(({ queues }) => queues));
  const paused = (await inner.queues()).filter(({ name, paused }) => paused && asked.has(name));
  for (const { name } of paused) await inner.configure(name, { paused: false });
  const answer = await run();
  for (const { name } of paused) await inner.configure(name, { paused: true });
  return answer;
}

/** Keeps jobs under another priority than they have, and shows the one that they have. */
function rankingBy(inner: Store, otherwise: (priority: number) => number): Store {
  const real = new Map<string, number>();
  const show = <Job extends { readonly id: string; readonly priority: number }>(job: Job): Job => ({
    ...job,
    priority: real.get(job.id) ?? job.priority,
  });
  return changed(inner, {
    insert: (jobs) => {
      for (const { id, priority } of jobs) real.set(id, priority);
      return inner.insert(jobs.map((job) => ({ ...job, priority: otherwise(job.priority) })));
    },
    exchange: async (settlements, claims) => {
      const { settled, claimed } = await inner.exchange(settlements, claims);
      return { settled, claimed: claimed.map((jobs) => jobs.map(show)) };
    },
    find: async (ids) => (await inner.find(ids)).map((job) => (job === null ? null : show(job))),
  });
}
