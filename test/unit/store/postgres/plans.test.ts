import { beforeEach, describe, expect, test, vi } from "vitest";
import { FLOW_QUEUE, FLOW_TYPE } from "../../../../src/core/flow.ts";
import type { NewJob } from "../../../../src/core/job.ts";
import { readLimits } from "../../../../src/core/limits.ts";
import { CANCEL, RESTART, RETRY, settle } from "../../../../src/core/lifecycle.ts";
import { FOLD_AFTER_MS } from "../../../../src/store/postgres/housekeeping.ts";
import type { FlowChange, Settlement, Store } from "../../../../src/store/store.ts";
import { result, signalTo, wait } from "../../../conformance/store/durable-work.ts";
import { claimOf, connectedTo, jobOf, schemaOf, serverOfThisFile } from "./open-database.ts";
import { explainingUrl, openExplained } from "./told-plans.ts";

const server = serverOfThisFile();

/** Enough jobs to fill several pages of every table. */
const MANY = 500;

/** The store adds up counters in the background, some time after they were written. That time does not come: its plans are not those of the call. */
beforeEach(() => {
  const wait = globalThis.setTimeout;
  const waitLonger = (run: () => void, ms?: number): NodeJS.Timeout => wait(run, ms === FOLD_AFTER_MS ? NEVER_MS : ms);
  vi.spyOn(globalThis, "setTimeout").mockImplementation(waitLonger);
});
const NEVER_MS = 2 ** 31 - 1;

/** The plan of every statement that a call ran, those inside of functions too, as the server itself tells them. */
async function plans(
  act: (store: Store) => Promise<unknown>,
  before?: (store: Store) => Promise<unknown>,
  url = explainingUrl(server()),
): Promise<string> {
  const { store, told } = await openExplained(url);
  await before?.(store);
  told.length = 0;
  await act(store);
  return told.join("\n");
}

const jobs = (count: number, types = 1) => Array.from({ length: count }, (_, index) => jobOf({}, `t${index % types}`));

function flowOf(members: number): NewJob {
  const texts = Array.from({ length: members }, (_, index) => ({ name: `m${index}`, plan: "{}", state: "{}" }));
  return { ...jobOf(), queue: FLOW_QUEUE, type: FLOW_TYPE, blocked: true, flow: { head: "{}", members: texts, notices: [] } };
}

function changeOf(id: string): FlowChange {
  const states = ["m1", "m2"].map((name) => ({ name, state: "{}" }));
  return { id, version: 1, head: "{}", states, added: [{ name: "new", plan: "{}", state: "{}" }], notices: [] };
}

async function completionsOf(store: Store, limit = 10): Promise<Settlement[]> {
  const { claimed } = await store.exchange([], [claimOf({ limit })]);
  return claimed[0]!.map((lease) => ({
    id: lease.id,
    fence: lease.fence,
    outcome: "completed",
    ifExpired: false,
    transition: settle(lease, { kind: "completed", result: null, runMs: 1 }, lease, 0.5),
  }));
}

function suspension({ id, fence }: Settlement): Settlement {
  const transition = { ...RETRY.transition, to: "blocked", delayMs: null } as const;
  return { id, fence, outcome: "suspend", ifExpired: false, transition, waits: [wait("w", 1_000)], calls: [jobOf()] };
}

/** Tables in which millions of rows may stand: none may be read as a whole. */
const LARGE = /Seq Scan on (job|ready|due|ended|blocked|key|attempt|log|facet|step|flow|member)\b/;

/** An index of ids that is read as a whole. */
const WHOLE_INDEX = /Index (Only )?Scan using \w+_pkey on [^\n]*\n(?!\s+Index Cond)/;

/** All limit keys of a queue, or all lines of a lane, are read. */
const ALL_OF_QUEUE =
  /(on limit_key|using limit_line_pkey on limit_line|on limit_key_pkey)\b[^\n]*\n\s+Index Cond: \((queue|lane) = [^()]*\)\n/;

/** What our own vacuum does: the tables keep their empty pages, so the server believes that they stay empty when they grow. */
async function vacuum(url: string): Promise<void> {
  const client = await connectedTo(server());
  const tables = ["job", "ready", "due", "running", "ended"].map((name) => `${schemaOf(url)}.${name}`);
  await client.query(`vacuum (truncate false) ${tables.join(", ")}`);
}

describe("no hot statement looks at jobs that it does not want", () => {
  test("a claim of one lane reads it in order, from its index", async () => {
    const told = await plans(
      (store) => store.exchange([], [claimOf()]),
      (store) => store.insert(jobs(100)),
    );
    expect(told).toMatch(/Index Scan using ready_lane on ready/);
    expect(told).toMatch(/Tid Scan on ready/);
    expect(told).toMatch(/Index Scan using job_pkey on job/);
    expect(told).not.toMatch(LARGE);
  });

  test("a claim of many lanes reads the head of each, and takes the chosen by their place", async () => {
    const told = await plans(
      (store) => store.exchange([], [claimOf()]),
      (store) => store.insert(jobs(100, 20)),
    );
    expect(told).toMatch(/Index Scan using ready_lane on ready/);
    expect(told).toMatch(/Tid Scan on ready r/);
    expect(told).not.toMatch(LARGE);
  });

  test.each([null, { perKey: { running: 1 } }, { perKey: { running: 1, rate: "1000/s" } }])(
    "ends and claims of jobs with limit keys look up lines, keys and jobs one by one: %j",
    async (limits) => {
      let settlements: Settlement[] = [];
      const told = await plans(
        (store) => store.exchange(settlements, [claimOf()]),
        async (store) => {
          if (limits !== null) await store.configure("default", { limits: readLimits(limits) });
          await store.insert(Array.from({ length: 100 }, (_, index) => jobOf({ limitKey: `k${index % 20}` })));
          settlements = await completionsOf(store);
        },
      );
      expect(told).toMatch(/on ready[^\n]*\n\s+Index Cond: \(\(lane = .* AND \(run_at = .* AND \(seq = /);
      expect(told).toMatch(/Tid Scan on limit_line/);
      expect(told).not.toMatch(ALL_OF_QUEUE);
      expect(told).not.toMatch(LARGE);
    },
  );

  test("a settlement finds its lease by the key", async () => {
    let settlements: Settlement[] = [];
    const told = await plans(
      (store) => store.exchange(settlements, []),
      async (store) => {
        await store.insert(jobs(10));
        settlements = await completionsOf(store);
      },
    );
    expect(told).toMatch(/Index Scan using running_pkey on running/);
    expect(told).not.toMatch(LARGE);
    expect(told).not.toMatch(/Seq Scan on running/);
  });

  test("a settlement that is refused is explained by keys", async () => {
    const told = await plans((store) =>
      store.exchange([{ id: jobOf().id, fence: 1, outcome: "release", ifExpired: false, transition: CANCEL.transition }], []),
    );
    for (const place of ["ready", "due", "running", "ended"]) expect(told).toContain(`Index Scan using ${place}_pkey on ${place}`);
    expect(told).not.toMatch(LARGE);
  });

  test.each<[string, (store: Store) => Promise<unknown>]>([
    ["insert", (store) => store.insert(jobs(10))],
    ["insert with keys", (store) => store.insert([jobOf({ idempotencyKey: "a" }), jobOf({ idempotencyKey: "b" })])],
    ["find", (store) => store.find([jobOf().id])],
    ["attempts", (store) => store.attempts(jobOf().id)],
    ["how long the oldest has waited", (store) => store.oldest()],
    ["what goes before a job", (store) => store.ahead(jobOf().id, "*", 100)],
    ["cancel", (store) => store.change([jobOf().id], CANCEL)],
    ["remove", (store) => store.remove([jobOf().id], ["dead"])],
    ["promote", (store) => store.promote(100)],
    ["extend", (store) => store.extend([{ id: jobOf().id, fence: 1, leaseMs: 1 }])],
    ["note", (store) => store.note([{ id: jobOf().id, fence: 1, progress: null, lines: ["a"] }])],
    ["prune", (store) => store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 100)],
    ["keep steps", (store) => store.keepSteps([{ id: jobOf().id, fence: 1, steps: [result("a")] }])],
    ["end steps", (store) => store.endSteps([signalTo(jobOf().id, "a")])],
    ["read flows", (store) => store.readFlows([{ id: jobOf().id, names: ["a"] }, { id: jobOf().id }])],
    ["change flows", (store) => store.changeFlows([changeOf(jobOf().id)])],
    ["read steps", (store) => store.readSteps(jobOf().id, 1, null)],
  ])("%s", async (_, act) => {
    const told = await plans(act, (store) => store.insert(jobs(10)));
    expect(told).toContain("Query Text");
    expect(told).not.toMatch(LARGE);
  });

  test("counters of one queue are read period by period, by their key", async () => {
    const told = await plans(
      (store) => store.counters({ step: "hour", queue: "default", from: 0, to: Date.now() + 1 }),
      (store) => store.insert(jobs(10)),
    );
    expect(told).toMatch(/Index Cond: \(\(step = \$\d\) AND \(at = ANY .* AND \(queue = /);
  });

  test("promote reads what is due from its index: half a million later jobs cost nothing", async () => {
    const told = await plans((store) => store.promote(100));
    expect(told).toMatch(/Index Scan using due_time on due/);
  });

  test("what goes before a job is counted in the index of its lanes", async () => {
    const stored = jobs(100, 5);
    const told = await plans(
      (store) => store.ahead(stored[99]!.id, "*", 100),
      (store) => store.insert(stored),
    );
    expect(told).toMatch(/Index (Only )?Scan using ready_lane on ready/);
    expect(told).toMatch(/Index Cond: \(\(lane = .*\) AND \(ROW\(run_at, seq\) </);
    expect(told).not.toMatch(LARGE);
  });

  test("how long the oldest has waited is read from the heads of lanes", async () => {
    const told = await plans(
      (store) => store.oldest(),
      (store) => store.insert(jobs(100, 5)),
    );
    expect(told).toMatch(/Index (Only )?Scan using ready_lane on ready r_1[\s\S]*Index Cond: \(lane > /);
    expect(told).not.toMatch(LARGE);
  });

  test("a list of dead jobs looks at no place where others stand, and finds the rest by keys", async () => {
    const told = await plans((store) => store.list({ limit: 1, status: ["dead"], tag: "x" }));
    expect(told).toMatch(/Index Scan using job_pkey on job/);
    expect(told).not.toMatch(/Scan [^\n]*on (ready|due|running)\b/);
    expect(told).not.toMatch(LARGE);
  });

  test("a list in the order of a state walks the index of that state, and a cursor is a place in it", async () => {
    const told = await plans(
      async (store) => {
        for (const status of [["pending"], ["scheduled", "retrying"], ["cancelled", "dead"]] as const) {
          const first = await store.list({ limit: 10, status, sort: "state" });
          await store.list({ limit: 10, status, sort: "state", cursor: first.cursor! });
        }
      },
      async (store) => {
        for (let batch = 0; batch < 10; batch++) {
          const some = jobs(1000, 3);
          await store.insert(some);
          await store.insert(jobs(1000, 3));
          await store.insert(Array.from({ length: 1000 }, (_, index) => jobOf({ delay: 60_000 + index })));
          await store.change(
            some.map(({ id }) => id),
            CANCEL,
          );
        }
      },
    );
    expect(told).toMatch(/Index Only Scan using ready_lane on ready[^\n]*\n\s+Index Cond: \(lane = /);
    expect(told).toMatch(/Index Scan using ready_lane on ready[^\n]*\n\s+Index Cond: \(\(lane = .*\) AND \(ROW\(run_at, seq\) <=/);
    expect(told).toMatch(/Index Scan using ready_lane on ready[^\n]*\n\s+Index Cond: \(\(lane = .*\) AND \(ROW\(run_at, seq\) >/);
    expect(told).toMatch(/Index Scan using due_time on due[^\n]*\n\s+Index Cond: \(ROW\(run_at, seq\) >/);
    expect(told).toMatch(/Index Scan Backward using ended_time on ended[^\n]*\n\s+Index Cond: .*ended_at <= /);
    // Tallies are few.
    expect(told).not.toMatch(/Bitmap Heap Scan on (?!tally\b)/);
    expect(told).not.toMatch(LARGE);
  });

  test("a list by a facet walks down its index in order, also before there are statistics, and a cursor is a place in it", async () => {
    const query = { limit: 1, queue: "default", facets: { customer: "globex" } };
    const told = await plans(
      async (store) => {
        const { cursor } = await store.list(query);
        await store.list({ ...query, cursor: cursor! });
        await store.count(query);
      },
      async (store) => {
        for (let batch = 0; batch < 5; batch++) await store.insert(jobs(1000).map((job) => ({ ...job, facets: { customer: "globex" } })));
      },
    );
    expect(told).toMatch(
      /Index (Only )?Scan Backward using facet_pkey on facet[^\n]*\n\s+Index Cond: .*queue = .*field = .*value = .*ROW\(created_at, seq\) </,
    );
    expect(told).toMatch(/Index Scan using job_newest on job[^\n]*\n\s+Index Cond: \(\(created_at = .*seq = /);
    expect(told).not.toMatch(/Sort|Bitmap/);
    expect(told).not.toMatch(LARGE);
  });

  test("a list by a facet in all queues walks down the index of each, and reads no job that it does not show", async () => {
    const query = { limit: 1, facets: { customer: "globex" } };
    const told = await plans(
      async (store) => {
        const { cursor } = await store.list(query);
        await store.list({ ...query, cursor: cursor! });
        await store.count(query);
      },
      async (store) => {
        for (let batch = 0; batch < 5; batch++) {
          const some = jobs(1000).map((job, index) => ({ ...job, queue: `q${index % 2}`, facets: { customer: "globex" } }));
          await store.insert(some);
        }
      },
    );
    expect(told).toMatch(
      /Index (Only )?Scan Backward using facet_pkey on facet[^\n]*\n\s+Index Cond: .*queue = q\.id.*field = .*value = .*ROW\(created_at, seq\) </,
    );
    expect(told).toMatch(/Index Scan using job_newest on job[^\n]*\n\s+Index Cond: \(\(created_at = .*seq = /);
    expect(told).not.toMatch(/Bitmap/);
    expect(told).not.toMatch(LARGE);
  });

  test("a count of jobs by what their places tell reads no bodies", async () => {
    const stored = jobs(MANY, 3);
    const told = await plans(
      async (store) => {
        await store.count({ status: ["pending"], type: "t1" });
        await store.count({ status: ["cancelled", "dead"], type: "t1", priority: { min: 0, max: 1 }, group: "000000000000" });
      },
      async (store) => {
        await store.insert(stored);
        await store.change(
          stored.slice(100).map(({ id }) => id),
          CANCEL,
        );
      },
    );
    expect(told).toContain("on ended");
    expect(told).not.toMatch(/on job\b/);
  });

  test("jobs without facets cost no look at the index of facets, and others find their entries by the key", async () => {
    const before = async (store: Store): Promise<unknown> =>
      store.insert(jobs(10).map((job) => ({ ...job, facets: { customer: "globex" } })));
    expect(await plans((store) => store.insert([...jobs(10), jobOf({ idempotencyKey: "a" })]), before)).not.toMatch(/on facet/);
    const told = await plans((store) => store.remove([jobOf().id], ["dead"]), before);
    expect(told).toMatch(/Tid Scan on facet/);
    expect(told).toMatch(/Index (Only )?Scan using facet_pkey on facet x/);
    expect(told).not.toMatch(LARGE);
  });

  test("jobs without steps cost no look at steps and notices", async () => {
    let running: Settlement[] = [];
    const told = await plans(
      async (store) => {
        await store.insert(jobs(10));
        await store.exchange(running.slice(0, 5), [claimOf({ turn: 2 })]);
        await store.exchange([{ ...running[5]!, outcome: "release", transition: RETRY.transition }], []);
        await store.promote(10, true);
        await store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], MANY);
      },
      async (store) => {
        await store.insert(jobs(MANY));
        running = await completionsOf(store);
      },
    );
    expect(told).toContain("on running");
    expect(told).not.toMatch(/ on (step|notice)\b(?![^\n]*never executed)/);
  });

  test("jobs that are no flows cost no look at flows and members", async () => {
    const told = await plans(async (store) => {
      const stored = [...jobs(10), jobOf({ idempotencyKey: "k", meta: { flow: 1 } })];
      await store.insert(stored);
      await store.change(
        stored.map(({ id }) => id),
        CANCEL,
      );
      await store.remove([stored[0]!.id, stored[10]!.id], ["cancelled"]);
      await store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], MANY);
    });
    expect(told).toMatch(/Delete on job/);
    expect(told).not.toMatch(/ (on|into) (\w+\.)?(flow|member)\b/i);
  });

  test("a read and a change of a flow look up its row, and each member by its name, also while the server believes that the tables are empty", async () => {
    const url = explainingUrl(server());
    const flow = flowOf(MANY);
    const names = ["m1", "m2"];
    const told = await plans(
      async (store) => {
        await store.readFlows([{ id: flow.id, names }]);
        await store.changeFlows([changeOf(flow.id)]);
        await store.readFlows([{ id: flow.id, after: "m2", limit: 10 }]);
      },
      async (store) => {
        const client = await connectedTo(server());
        await client.query(`vacuum (truncate false) ${schemaOf(url)}.flow, ${schemaOf(url)}.member`);
        await store.insert([flow, flowOf(MANY)]);
      },
      url,
    );
    expect(told).toMatch(/Index Scan using flow_pkey on flow\b/);
    expect(told).toMatch(/Index Scan using member_pkey on member[^\n]*\n\s+Index Cond: \(\(flow = .* AND \(name = /);
    expect(told).toMatch(/Index Scan using member_pkey on member m\b[^\n]*\n\s+Index Cond: \(\(flow = .* AND \(name = /);
    expect(told).toMatch(/Index Scan using member_pkey on member[^\n]*\n\s+Index Cond: \(\(flow = .* AND \(name > /);
    expect(told).not.toMatch(WHOLE_INDEX);
    expect(told).not.toMatch(LARGE);
  });

  test("while dropped notices are in the way, a look begins behind them", async () => {
    const url = explainingUrl(server());
    const client = await connectedTo(server());
    const add = (count: number): Promise<unknown> =>
      client.query(
        `insert into ${schemaOf(url)}.notice (kind, notice) select 1, '{"kind":"cancel","id":"' || n || '"}' from generate_series(1, ${count}) n`,
      );
    const told = await plans(
      async (store) => {
        await add(3);
        expect((await store.notices(10)).length).toBe(3);
      },
      async (store) => {
        let now = 0;
        const slowly = vi.spyOn(performance, "now").mockImplementation(() => (now += 50));
        for (let look = 0; look < 2; look++) {
          await add(2_000);
          await store.dropNotices((await store.notices(2_000)).map(({ key }) => key));
        }
        slowly.mockImplementation(() => now);
      },
      url,
    );
    expect(told).toMatch(/Index Scan using notice_pkey on notice[^\n]*\n\s+Index Cond: \(number > '?3000/);
  });

  test("suspended jobs whose time has come are found by their index", async () => {
    const told = await plans((store) => store.promote(100));
    expect(told).toMatch(/Index (Only )?Scan using blocked_wake on blocked/);
  });

  test("a list between two times walks down the index of creation, also before there are statistics", async () => {
    const told = await plans(
      (store) => store.list({ limit: 50, from: 0, to: Date.UTC(2100, 0) }),
      async (store) => {
        for (let batch = 0; batch < 30; batch++) await store.insert(jobs(1000));
      },
      // What half a million jobs cost at the usual price.
      explainingUrl(server(), ["random_page_cost=100"]),
    );
    expect(told).toMatch(/Index Scan Backward using job_newest on job/);
    expect(told).not.toMatch(/Bitmap/);
    expect(told).not.toMatch(/Seq Scan on job\b/);
  });

  const afterIdleVacuum: [string, (store: Store, running: readonly Settlement[]) => Promise<unknown>][] = [
    ["a claim", (store) => store.exchange([], [claimOf({ turn: 2 })])],
    ["a settlement", (store, [first]) => store.exchange([first!], [])],
    [
      "a settlement that ends nothing",
      (store, [first]) => store.exchange([{ ...first!, outcome: "release", transition: RETRY.transition }], []),
    ],
    ["a settlement that is refused", (store, [first]) => store.exchange([{ ...first!, fence: 9 }], [])],
    ["extend", (store, [first]) => store.extend([{ ...first!, leaseMs: 60_000 }])],
    ["note", (store, [first]) => store.note([{ ...first!, progress: { percent: 1, note: null }, lines: ["a"] }])],
    ["find", (store, [first]) => store.find([first!.id])],
    ["a suspension", (store, [first]) => store.exchange([suspension(first!)], [])],
    ["a step that is kept", (store, [first]) => store.keepSteps([{ ...first!, steps: [result("a")] }])],
    ["a step that somebody ends", (store, [first]) => store.endSteps([signalTo(first!.id, "a")])],
    ["steps that are read", (store, [first]) => store.readSteps(first!.id, first!.fence, null)],
    ["restart", (store, [first]) => store.change([first!.id], { ...RESTART, from: ["running"] })],
    ["cancel", (store, [first]) => store.change([first!.id], CANCEL)],
    ["retry", (store, [first]) => store.change([first!.id], RETRY)],
  ];
  test.each(afterIdleVacuum)(
    "%s looks up each item by its key, also while the server believes that the tables are empty",
    async (_, act) => {
      let running: Settlement[] = [];
      const url = explainingUrl(server());
      const told = await plans(
        (store) => act(store, running),
        async (store) => {
          await store.insert(jobs(MANY));
          await store.exchange(await completionsOf(store, MANY), []);
          await store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], MANY);
          await vacuum(url);
          await store.insert(jobs(MANY));
          running = await completionsOf(store, MANY / 2);
        },
        url,
      );
      expect(told).toMatch(/Index Cond: \(\(?id = /);
      expect(told).not.toMatch(WHOLE_INDEX);
      expect(told).not.toMatch(/Scan using ended_time on ended/);
    },
  );

  test("a plan that scans is seen as one, so this test can fail", async () => {
    const told = await plans((store) => store.list({ limit: 1, status: ["retrying"], tag: "x" }));
    expect(told).toMatch(/Seq Scan on due/);
  });
});
