import { describe, expect } from "vitest";
import type { Event } from "../../../src/core/event.ts";
import type { Hint, Store } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, LEASE_MS, type World } from "../world.ts";

/** Resolves with the first hint that is wanted; the test's own time limit bounds the wait. */
function hintOf(store: Store, wanted: (hint: Hint) => boolean): Promise<Hint> {
  return new Promise((resolve) => {
    const stop = store.watch((hint) => {
      if (!wanted(hint)) return;
      stop();
      resolve(hint);
    });
  });
}

const topic =
  (name: Hint["topic"]) =>
  (hint: Hint): boolean =>
    hint.topic === name;
/**
 * The test's clock stands still, so the time until then is known exactly. Elsewhere the hint may have come before anybody listened; then one
 * looks at everything, and says that something may be due now.
 */
const dueIn =
  (inMs: number) =>
  (hint: Hint, where: "here" | "elsewhere"): boolean =>
    hint.topic === "due" && (hint.inMs === inMs || (where === "elsewhere" && hint.inMs === 0));
const workIn =
  (queue: string) =>
  (hint: Hint): boolean =>
    hint.topic === "work" && hint.queue === queue;

/** Lets everything that is ready run, for as long as the fact is not there; the test's own time limit bounds it. */
async function until(fact: () => boolean, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
  while (!fact()) {
    await meanwhile();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const NEWS: Event = { event: "queue:paused", at: 1, queue: "n\u0000 \u{1F600}" };

interface Ring {
  readonly by: string;
  readonly rings: (hint: Hint, where: "here" | "elsewhere") => boolean;
  /** Makes ready, and gives back the call that rings. */
  readonly ready: (world: World) => Promise<() => Promise<unknown>>;
}

const SPEC = {
  name: "s",
  timing: { kind: "every", everyMs: 1_000 },
  job: {
    type: "t",
    queue: "cron",
    priority: 0,
    payload: "null",
    maxRetries: 0,
    retryDelayMs: 0,
    timeoutMs: 0,
    webhookUrl: null,
    tags: [],
    meta: null,
  },
  catchUp: "one",
  overlap: "allow",
  paused: false,
} as const;

const RINGS: readonly Ring[] = [
  { by: "a job that is due now: work in its queue", rings: workIn("mail"), ready: async (world) => () => world.add({ queue: "mail" }) },
  { by: "a job for later: due in so long", rings: dueIn(1_000), ready: async (world) => () => world.add({ delay: 1_000 }) },
  {
    by: "a job for a time: due in so long",
    rings: dueIn(90_000),
    ready: async (world) => () => world.add({ runAt: new Date(world.clock.now() + 90_000) }),
  },
  {
    by: "jobs for several times: due at the first of them",
    rings: dueIn(30_000),
    ready: async (world) => () => world.addMany(3, (index) => ({ delay: [60_000, 30_000, 90_000][index]! })),
  },
  {
    by: "a promotion: work in its queue",
    rings: workIn("mail"),
    ready: async (world) => {
      await world.add({ queue: "mail", delay: 10 });
      world.clock.advance(10);
      return () => world.store.promote(1);
    },
  },
  {
    by: "the cancel of a running job: lease",
    rings: topic("lease"),
    ready: async (world) => {
      const lease = await world.running();
      return () => world.cancel(lease.id);
    },
  },
  {
    by: "a retry by hand: work in its queue",
    rings: workIn("mail"),
    ready: async (world) => {
      const dead = await world.ended("dead", { queue: "mail" });
      return () => world.retry(dead.id);
    },
  },
  {
    by: "a job that is run now: work in its queue",
    rings: workIn("mail"),
    ready: async (world) => {
      const job = await world.add({ queue: "mail", delay: 1_000_000 });
      return () => world.runNow(job.id);
    },
  },
  {
    by: "a failure that is retried: due in so long",
    rings: dueIn(7_000),
    ready: async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      return () =>
        world.settle(lease, { kind: "failed", error: { name: "E", message: "m", stack: null, kind: "error" }, delayMs: 7_000, runMs: 1 });
    },
  },
  {
    by: "a lease that was lost: lease",
    rings: topic("lease"),
    ready: async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      world.clock.advance(LEASE_MS);
      return () => world.settle(lease, { kind: "lost" }, true);
    },
  },
  {
    by: "a schedule that is removed: schedules",
    rings: topic("schedules"),
    ready: async (world) => {
      await world.store.putSchedule(SPEC, 1, null);
      return () => world.store.removeSchedule(SPEC.name);
    },
  },
  {
    by: "a lease that is given back: work in its queue",
    rings: workIn("mail"),
    ready: async (world) => {
      const lease = await world.running({ queue: "mail" });
      return () => world.settle(lease, { kind: "release" });
    },
  },
  {
    by: "a setting or a pause: queues",
    rings: topic("queues"),
    ready: async (world) => () => world.store.configure("a", { paused: true }),
  },
  { by: "a schedule: schedules", rings: topic("schedules"), ready: async (world) => () => world.store.putSchedule(SPEC, 1, null) },
  {
    by: "a tick: work in the queue of its job",
    rings: workIn("cron"),
    ready: async (world) => {
      await world.store.putSchedule(SPEC, 1, null);
      const [schedule] = (await world.store.schedules(["s"])).schedules;
      return () => world.store.tick([{ name: "s", version: schedule!.version, tick: 1, nextTick: 2, job: world.job({ queue: "cron" }) }]);
    },
  },
];

export function feedSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("hints", () => {
    for (const { by, rings, ready } of RINGS) {
      keeps(`are rung by ${by}; here at once, elsewhere soon`, async (world) => {
        const other = await world.elsewhere();
        const act = await ready(world);
        const here = hintOf(world.store, (hint) => rings(hint, "here"));
        const there = hintOf(other.store, (hint) => rings(hint, "elsewhere"));
        await act();
        await Promise.all([here, there]);
      });
    }

    keeps("name every queue that a batch brought work to", async (world) => {
      const all = ["a", "b", "c"].map((queue) => hintOf(world.store, workIn(queue)));
      await world.addMany(9, (index) => ({ queue: "abc"[index % 3]! }));
      await Promise.all(all);
    });

    keeps("stop when they are no longer wanted; other listeners go on", async (world) => {
      const heard: Hint[] = [];
      const stop = world.store.watch((hint) => heard.push(hint));
      const first = hintOf(world.store, workIn("first"));
      await world.add({ queue: "first" });
      await first;
      stop();
      stop();
      const second = hintOf(world.store, workIn("second"));
      await world.add({ queue: "second" });
      await second;
      expect(heard.some(workIn("first"))).toBe(true);
      expect(heard.some(workIn("second"))).toBe(false);
    });

    keeps("a function that watches twice hears twice, and leaves one by one", async (world) => {
      let heard = 0;
      const listener = (hint: Hint): void => {
        if (workIn("mail")(hint)) heard++;
      };
      const stop = world.store.watch(listener);
      world.store.watch(listener);
      stop();
      stop();
      const witness = hintOf(world.store, workIn("mail"));
      await world.add({ queue: "mail" });
      await witness;
      expect(heard).toBe(1);
    });

    keeps("reach the others when one throws, sends another away or brings one along", async (world) => {
      const heard: string[] = [];
      const tell = (name: string) => (hint: Hint) => {
        if (workIn("mail")(hint)) heard.push(name);
      };
      world.store.watch((hint) => {
        if (!workIn("mail")(hint)) return;
        stopLast();
        world.store.watch(tell("late"));
        throw new Error("a broken promise");
      });
      world.store.watch(tell("second"));
      const stopLast = world.store.watch(tell("last"));
      // As it is when the last of them was told: the same hint may come once more by way of the server.
      const heardByThen = hintOf(world.store, workIn("mail")).then(() => [...heard]);
      await world.add({ queue: "mail" });
      expect(await heardByThen).toEqual(["second"]);
    });

    keeps("come for every job: who claims at each hint misses none that became pending beside an insert", async (world) => {
      const queue = "mail";
      const [dead, released] = [await world.ended("dead", { queue }), await world.running({ queue })];
      const due = await world.add({ queue, delay: 10 });
      world.clock.advance(10);
      const taken: string[] = [];
      world.store.watch((hint) => {
        if (workIn(queue)(hint)) void world.claim({ queues: [queue], turn: 0 }).then((jobs) => taken.push(...jobs.map(({ id }) => id)));
      });
      // Hints of an insert may come before it is done, and the first claim before the other calls.
      const added = world.add({ queue });
      const calls = [world.retry(dead.id), world.release(released), world.store.promote(1)];
      const { id } = await added;
      await Promise.all(calls);
      await until(() => taken.length === 4);
      expect(taken.toSorted()).toEqual([dead.id, released.id, due.id, id].toSorted());
    });

    keeps("are not for who comes after close", async (world) => {
      await world.store.close();
      world.store.watch(() => {})();
      world.store.listen(() => {})();
      expect(world.store.newsWanted()).toBe(false);
    });

    keeps("a refused insert rings nothing of its queue", async (world) => {
      await world.store.configure("small", { capacity: 0 });
      const heard: Hint[] = [];
      world.store.watch((hint) => heard.push(hint));
      await world.insert(world.job({ queue: "small" }));
      const witness = hintOf(world.store, workIn("witness"));
      await world.add({ queue: "witness" });
      await witness;
      expect(heard.some(workIn("small"))).toBe(false);
    });

    keeps("are only hints: without a single listener every job is found by looking", async (world) => {
      const other = await world.elsewhere();
      const job = await world.add();
      expect((await other.take()).id).toBe(job.id);
    });
  });

  describe("news", () => {
    keeps("nobody listens: nobody wants news, and publishing is allowed all the same", async (world) => {
      await until(() => !world.store.newsWanted());
      await world.store.publish([NEWS]);
      await world.store.publish([]);
    });

    keeps("reach every listener in every process, as they were", async (world) => {
      const other = await world.elsewhere();
      const here: Event[] = [];
      const there: Event[] = [];
      const stops = [world.store.listen((events) => here.push(...events)), other.store.listen((events) => there.push(...events))];
      const event: Event = { event: "job:created", at: 5, jobId: world.newId(), type: "t", queue: "q", priority: 3, level: "default" };
      // From "about now on": what is published before the listener is known may be missed, so one goes on until it is heard.
      const heard = (list: readonly Event[]): boolean => list.some((one) => one.event === "job:created");
      await until(
        () => heard(here) && heard(there),
        () => world.store.publish([NEWS, event]),
      );
      expect(here).toContainEqual(event);
      expect(there).toContainEqual(NEWS);
      for (const stop of stops) stop();
    });

    keeps("are wanted, in any process, once somebody listens", async (world) => {
      const other = await world.elsewhere();
      const stop = world.store.listen(() => {});
      await until(() => world.store.newsWanted() && other.store.newsWanted());
      stop();
    });

    keeps("of a process that has only just come, or was idle, are heard from the first on", async (world) => {
      const heard: Event[] = [];
      const stop = world.store.listen((events) => heard.push(...events));
      const known = await world.elsewhere();
      await until(
        () => heard.length > 0,
        () => known.store.publish([NEWS]),
      );
      const fresh = await world.elsewhere();
      expect(fresh.store.newsWanted()).toBe(true);
      const first: Event = { event: "queue:resumed", at: 2, queue: "first" };
      await fresh.store.publish([first]);
      await until(() => heard.some(({ event }) => event === "queue:resumed"));
      stop();
    });

    keeps("keep their order within a batch", async (world) => {
      const heard: Event[] = [];
      world.store.listen((events) => heard.push(...events));
      const batch: Event[] = Array.from({ length: 50 }, (_, at) => ({ event: "queue:paused", at, queue: "q" }));
      await until(
        () => heard.length >= 50,
        () => world.store.publish(batch),
      );
      expect(heard.slice(0, 50)).toEqual(batch);
    });

    keeps("stop when they are no longer wanted", async (world) => {
      const ended: Event[] = [];
      const witness: Event[] = [];
      const stop = world.store.listen((events) => ended.push(...events));
      world.store.listen((events) => witness.push(...events));
      await until(
        () => ended.length > 0,
        () => world.store.publish([NEWS]),
      );
      stop();
      const before = ended.length;
      const mark: Event = { event: "queue:resumed", at: 2, queue: "mark" };
      await until(
        () => witness.some(({ event }) => event === "queue:resumed"),
        () => world.store.publish([mark]),
      );
      expect(ended).toHaveLength(before);
    });
  });
}
