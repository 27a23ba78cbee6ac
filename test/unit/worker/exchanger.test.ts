import { beforeEach, describe, expect, test } from "vitest";
import type { ClaimRequest, LeasedJob, LeaseAnswer, Leases, Report, WorkOptions } from "../../../src/client/client.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { sleep } from "../../../src/lib/clock.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { AttemptEvents } from "../../../src/worker/attempt-events.ts";
import { Exchanger } from "../../../src/worker/exchanger.ts";
import { readHandlers } from "../../../src/worker/handlers.ts";
import { readWorkOptions } from "../../../src/worker/options.ts";
import { WorkerCard } from "../../../src/worker/worker-card.ts";
import type { Trouble } from "../../../src/core/trouble.ts";

const job = { job: { id: "new", type: "endless", timeout: 0 }, fence: 1 } as LeasedJob;
const report = (id: string): Report => ({ id, fence: 1, outcome: { kind: "completed", result: null, runMs: 0 } });
const unavailable = new MillraceError("store_unavailable", "connection refused");

describe("the exchange of ended attempts for new jobs", () => {
  let clock: VirtualClock;
  /** What was sent, by ids. */
  let sent: string[][];
  /** What the store took, and the jobs that were started. */
  let answered: string[];
  let givenUp: string[];
  /** Whose leases are no longer renewed. */
  let dropped: string[];
  let troubles: Trouble["kind"][];
  let claims: ClaimRequest[];
  /** Every report that was sent. */
  let all: Report[];
  let isClosed: boolean;
  /** Throws to be a renewer that breaks its word. */
  let onHold: () => void;
  /** Throws to fail an exchange. */
  let store: (ids: string[]) => Promise<void> | void;
  /** Jobs whose rows somebody's transaction holds. */
  let held: Set<string>;

  beforeEach(() => {
    clock = new VirtualClock(0, () => sent.length);
    sent = [];
    claims = [];
    all = [];
    answered = [];
    givenUp = [];
    dropped = [];
    troubles = [];
    isClosed = false;
    onHold = () => {};
    store = () => {};
    held = new Set();
  });

  /** As the contract of stores has it: one that is alone in its call is waited for until the deadline, others are answered `locked`. */
  async function answersOf(ids: readonly string[], isAlone: boolean): Promise<LeaseAnswer[]> {
    const endsAt = clock.monotonic() + (isAlone ? 10_000 : 0);
    while (held.has(ids[0]!) && clock.monotonic() < endsAt) await sleep(clock, 100);
    if (isAlone && held.has(ids[0]!)) throw unavailable;
    return ids.map((id) => (held.has(id) ? "locked" : "ok"));
  }

  interface Wishes {
    readonly slots?: number;
    readonly inFlight?: number;
    readonly concurrency?: WorkOptions["concurrency"];
    readonly jobsOf?: (claim: ClaimRequest) => LeasedJob[];
    /** What each claim is told about the next. */
    readonly againInMs?: () => number | null;
  }

  /** Each claim is answered with one job, whose handler never ends. So with one slot there is one claim, and with none there is none. */
  function exchanger({
    slots = 0,
    inFlight = 1,
    concurrency = Math.max(1, slots),
    jobsOf = () => [job],
    againInMs = () => null,
  }: Wishes = {}): Exchanger {
    const exchange: Leases["exchange"] = async (reports, wanted) => {
      const ids = reports.map(({ id }) => id);
      sent.push(wanted === null ? ids : [...ids, "claim"]);
      if (wanted !== null) claims.push(wanted);
      await store(ids);
      const results = await answersOf(ids, ids.length === 1 && wanted === null);
      answered.push(...ids.filter((_, index) => results[index] === "ok"));
      all.push(...reports);
      return { results, jobs: wanted === null ? [] : jobsOf(wanted), againInMs: wanted === null ? null : againInMs() };
    };
    const handlers = readHandlers({
      quick: async () => {},
      endless: (_payload, ctx) => (answered.push(ctx.job.id), new Promise(() => {})),
    });
    const made = new Exchanger({
      leases: { exchange } as Leases,
      getJob: async () => null,
      flows: { outcomes: () => Promise.reject(new Error("no flows")), add: () => Promise.reject(new Error("no flows")) },
      clock,
      random: () => 1,
      inFlight,
      isRemote: false,
      handlers,
      settings: readWorkOptions({ concurrency, lease: "30s" }),
      renewer: {
        hold: () => onHold(),
        drop: (leases) => dropped.push(...leases.map(({ id }) => id)),
        beatNow: async () => {},
        stop: async () => {},
      },
      events: new AttemptEvents(undefined, () => {}),
      card: new WorkerCard(clock, { queues: ["default"], types: handlers.types, schemas: handlers.schemas }),
      onTrouble({ kind, message }) {
        troubles.push(kind);
        const [, ids] = /\((.*)\) could not be reported; (?:the attempt|these attempts) will count as lost/.exec(message) ?? [];
        if (ids !== undefined) givenUp.push(...ids.split(", "));
      },
      onClosed: () => (isClosed = true),
    });
    if (slots === 0) void made.drain(() => {});
    return made;
  }

  test("reports of one tick and the claim travel together", async () => {
    const exchange = exchanger({ slots: 1 });
    for (const id of ["a", "b", "c"]) exchange.report(report(id));
    await clock.settle();
    expect(sent).toEqual([["a", "b", "c", "claim"]]);
    expect(answered).toEqual(["a", "b", "c", "new"]);
    expect(dropped).toEqual(["a", "b", "c"]);
    expect(exchange.isIdle).toBe(true);
  });

  test("with two in flight each takes its share", async () => {
    const exchange = exchanger({ inFlight: 2 });
    for (const id of ["a", "b", "c", "d", "e"]) exchange.report(report(id));
    await clock.settle();
    expect(sent).toEqual([
      ["a", "b", "c"],
      ["d", "e"],
    ]);
  });

  test("slots that a full claim added start what waits, although there is nothing more to claim", async () => {
    const types = ["quick", "quick", "endless"];
    const jobsOf = ({ limit }: ClaimRequest): LeasedJob[] => {
      const type = types[claims.length - 1];
      const one = (_: unknown, index: number) => ({ job: { id: `${type}-${index}`, type, timeout: 0 }, fence: 1, facts: {} }) as LeasedJob;
      return type === undefined ? [] : Array.from({ length: limit }, one);
    };
    // With a time to measure, so that the third claim goes ahead of the slots.
    store = () => sleep(clock, 1);
    const exchange = exchanger({ slots: 1, concurrency: { min: 1, max: 8 }, jobsOf });
    exchange.wake();
    await clock.advance("10s");
    expect(claims[2]!.limit).toBeGreaterThan(exchange.slots);
    expect(exchange.attempts.running.size).toBe(exchange.slots);
  });

  describe("a job that waits for a limit", () => {
    test("is claimed when the store said, and at no other time", async () => {
      const waits = [300, 50, null];
      const exchange = exchanger({ slots: 1, jobsOf: () => [], againInMs: () => waits[claims.length - 1] ?? null });
      exchange.wake();
      await clock.settle();
      expect(claims).toHaveLength(1);
      await clock.advance(299);
      expect(claims).toHaveLength(1);
      await clock.advance(1);
      expect(claims).toHaveLength(2);
      await clock.advance(50);
      expect(claims).toHaveLength(3);
      await clock.advance("1h");
      expect(claims).toHaveLength(3);
    });

    test("is claimed sooner if a hint comes, and once more at the time", async () => {
      const waits = [300, 5000];
      const exchange = exchanger({ slots: 1, jobsOf: () => [], againInMs: () => waits[claims.length - 1] ?? null });
      exchange.wake();
      await clock.advance(100);
      exchange.wake();
      await clock.settle();
      expect(claims).toHaveLength(2);
      await clock.advance(200);
      expect(claims).toHaveLength(3);
    });

    test("is not claimed by a worker that stops", async () => {
      const exchange = exchanger({ slots: 1, jobsOf: () => [], againInMs: () => 300 });
      exchange.wake();
      await clock.settle();
      await exchange.drain(() => {});
      exchange.stop();
      await clock.advance("1h");
      expect(claims).toHaveLength(1);
    });
  });

  test("a job that was never started says so when it is given back: because it came too late, or beyond the limit", async () => {
    const beyond = ["one", "two"].map((id) => ({ job: { id, type: "endless", timeout: 0 }, fence: 1 }) as LeasedJob);
    const exchange = exchanger({ slots: 1, jobsOf: () => beyond });
    exchange.wake();
    await clock.settle();
    expect(all).toEqual([{ id: "two", fence: 1, facts: undefined, outcome: { kind: "release" }, unstarted: true }]);
  });

  test("a claim whose answer was lost is asked again by its turn, before anything new is claimed", async () => {
    const exchange = exchanger({ slots: 2 });
    let isAway = true;
    store = () => {
      if (isAway) throw unavailable;
    };
    exchange.wake();
    await clock.advance("1s");
    expect(claims[0]).toMatchObject({ turn: 1, again: false });
    expect(new Set(claims.slice(1).map(({ turn, again }) => `${turn} ${again}`))).toEqual(new Set(["1 true"]));
    expect(exchange.isIdle).toBe(false);
    isAway = false;
    await clock.advance("10s");
    expect(answered).toEqual([job.job.id]);
    exchange.wake();
    await clock.settle();
    expect(claims.at(-1)).toMatchObject({ turn: 2, again: false });
  });

  test("a claim that is repeated travels alone, and reports go beside it", async () => {
    const exchange = exchanger({ slots: 1 });
    const lock = Promise.withResolvers<void>();
    store = () => {
      throw unavailable;
    };
    exchange.report(report("a"));
    await clock.settle();
    exchange.report(report("b"));
    store = () => (sent.at(-1)!.includes("claim") ? lock.promise : undefined);
    await clock.advance("1s");
    exchange.report(report("c"));
    await clock.advance("1s");
    expect(answered.sort()).toEqual(["a", "b", "c"]);
    expect(sent.filter((ids) => ids.includes("claim"))).toEqual([["a", "claim"], ["claim"]]);
    lock.resolve();
    await clock.settle();
    expect([answered.at(-1), exchange.isIdle]).toEqual(["new", true]);
    exchange.report(report("d"));
    await clock.settle();
    expect(answered.at(-1)).toBe("d");
  });

  test("a store that is away for an hour loses no report, and is told once", async () => {
    const exchange = exchanger();
    let isAway = true;
    store = () => {
      if (isAway) throw unavailable;
    };
    for (const id of ["a", "b"]) exchange.report(report(id));
    await clock.advance("1h");
    expect([exchange.healthy, answered, troubles]).toEqual([false, [], ["store"]]);
    const tries = sent.length;
    expect(tries).toBeLessThan(1000);
    isAway = false;
    await clock.advance("10s");
    expect(exchange.healthy).toBe(true);
    expect(answered.sort()).toEqual(["a", "b"]);
    await clock.advance("10s");
    expect(sent.length - tries).toBe(1);
  });

  test("a report that the store always chokes on does not take others with it, and is given up after the time of a lease", async () => {
    const exchange = exchanger();
    store = (ids) => {
      if (ids.includes("poison")) throw new TypeError("cannot read this");
    };
    for (const id of ["a", "poison", "b", "c", "d"]) exchange.report(report(id));
    await clock.advance("20s");
    expect(answered.sort()).toEqual(["a", "b", "c", "d"]);
    await clock.advance("1m");
    expect(givenUp).toEqual(["poison"]);
    expect(troubles).toContain("report");
    expect(exchange.isIdle).toBe(true);
  });

  test("a report that failed never travels with a claim again, nor with another report, and its pauses grow", async () => {
    const exchange = exchanger({ slots: 1 });
    const triedAt: number[] = [];
    store = (ids) => {
      if (!ids.includes("locked")) return;
      triedAt.push(clock.monotonic());
      throw unavailable;
    };
    for (const id of ["a", "locked"]) exchange.report(report(id));
    await clock.advance("1s");
    expect(sent.filter((ids) => ids.includes("locked"))).toEqual([["a", "locked", "claim"], ...triedAt.slice(1).map(() => ["locked"])]);
    expect(claims.map(({ turn, again }) => [turn, again])).toEqual([
      [1, false],
      [1, true],
    ]);
    expect([answered.sort(), exchange.healthy, exchange.unreported]).toEqual([["a", "new"], true, 1]);
    await clock.advance("30s");
    const pauses = triedAt.slice(2).map((at, index) => at - triedAt[index + 1]!);
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
  });

  test("jobs are claimed and reported all the time while a report waits for a locked row, and it is answered once the row is free", async () => {
    const exchange = exchanger({ slots: 100 });
    const row = Promise.withResolvers<void>();
    store = (ids) => (ids.includes("locked") ? row.promise : undefined);
    exchange.report(report("locked"), true);
    for (let turn = 0; turn < 20; turn++) {
      exchange.report(report(`other ${turn}`));
      await clock.settle();
    }
    expect(sent.slice(0, 3)).toEqual([["locked"], ["other 0", "claim"], ["other 1", "claim"]]);
    expect(answered.length).toBe(40);
    expect([exchange.unreported, exchange.isIdle, exchange.healthy]).toEqual([1, false, true]);
    row.resolve();
    await clock.settle();
    expect([answered.at(-1), exchange.unreported, exchange.isIdle]).toEqual(["locked", 0, true]);
  });

  test("what may have to wait for a row goes together, and one by one after it failed together", async () => {
    const exchange = exchanger();
    store = (ids) => {
      if (ids.includes("locked")) throw unavailable;
    };
    for (const id of ["a", "locked", "b"]) exchange.report(report(id), true);
    await clock.advance("1s");
    expect(sent.slice(0, 2)).toEqual([["a", "locked", "b"], ["a"]]);
    expect(answered.sort()).toEqual(["a", "b"]);
    // The store answers others: it is not away, and the one that fails is told by itself.
    expect([exchange.healthy, troubles]).toEqual([true, ["report"]]);
  });

  test("a report that is held up keeps back none that travels with it", async () => {
    const exchange = exchanger();
    held.add("held");
    for (const id of ["a", "held", "b"]) exchange.report(report(id), true);
    await clock.settle();
    expect([sent, answered]).toEqual([[["a", "held", "b"]], ["a", "b"]]);
    held.clear();
    await clock.advance("1s");
    expect([answered.at(-1), exchange.isIdle, troubles]).toEqual(["held", true, []]);
  });

  test("a report that is held up while it is alone keeps back none that comes later", async () => {
    const exchange = exchanger();
    held.add("held");
    exchange.report(report("held"), true);
    await clock.settle();
    exchange.report(report("a"), true);
    await clock.advance("1s");
    expect(answered).toEqual(["a"]);
    expect(exchange.unreported).toBe(1);
  });

  test("many reports that are held up keep back none that failed with them", async () => {
    const exchange = exchanger();
    const ids = Array.from({ length: 20 }, (_, index) => `held ${index}`);
    held = new Set(ids);
    let isAway = true;
    store = () => {
      if (isAway) throw unavailable;
    };
    for (const id of [...ids, "a"]) exchange.report(report(id));
    await clock.settle();
    isAway = false;
    await clock.advance("15s");
    expect(answered).toEqual(["a"]);
    expect(exchange.unreported).toBe(20);
  });

  test("of many reports that are held up one that is free is answered soon, and each of the others is told once", async () => {
    const exchange = exchanger();
    const ids = Array.from({ length: 20 }, (_, index) => `held ${index}`);
    held = new Set(ids);
    for (const id of ids) exchange.report(report(id), true);
    await clock.advance("1m");
    held.delete("held 19");
    await clock.advance("6s");
    expect(answered).toEqual(["held 19"]);
    expect(troubles).toEqual(Array.from(ids, () => "report"));
  });

  test("many reports that failed because the store was away need few calls when it is back", async () => {
    const exchange = exchanger();
    let isAway = true;
    store = () => {
      if (isAway) throw unavailable;
    };
    for (let index = 0; index < 500; index++) exchange.report(report(String(index)));
    await clock.advance("1m");
    const tries = sent.length;
    isAway = false;
    await clock.advance("10s");
    expect(answered.length).toBe(500);
    expect(sent.length - tries).toBeLessThan(12);
  });

  test("what waits without a claim is given up at the end, and what is under way when it fails", async () => {
    const exchange = exchanger();
    const away = Promise.withResolvers<void>();
    store = () => away.promise;
    exchange.report(report("a"), true);
    await clock.settle();
    exchange.report(report("b"), true);
    exchange.stop();
    away.reject(unavailable);
    await clock.advance("1h");
    expect([sent, givenUp.sort(), exchange.isIdle]).toEqual([[["a"]], ["a", "b"], true]);
    expect(dropped.sort()).toEqual(["a", "b"]);
  });

  test("a client that was closed ends it", async () => {
    const exchange = exchanger();
    store = () => {
      throw new MillraceError("closed", "the client was closed");
    };
    exchange.report(report("a"));
    await clock.settle();
    expect([isClosed, exchange.isIdle]).toEqual([true, true]);
    exchange.report(report("b"));
    await clock.advance("1h");
    expect(sent).toEqual([["a"]]);
  });

  test("a client that was closed ends it, also when only a report without a claim hears of that", async () => {
    const exchange = exchanger();
    store = () => {
      throw new MillraceError("closed", "the client was closed");
    };
    exchange.report(report("a"), true);
    await clock.settle();
    expect([isClosed, givenUp, exchange.isIdle]).toEqual([true, ["a"], true]);
  });

  test("that was stopped says nothing more, also when an exchange under way fails: its reports are given up", async () => {
    const exchange = exchanger();
    const away = Promise.withResolvers<void>();
    store = () => away.promise;
    exchange.report(report("a"));
    await clock.settle();
    exchange.stop();
    away.reject(unavailable);
    await clock.advance("1h");
    expect([sent, givenUp, exchange.isIdle]).toEqual([[["a"]], ["a"], true]);
    expect(troubles).toEqual(["report"]);
  });

  test("survives a renewer that throws, and tells it", async () => {
    const exchange = exchanger({ slots: 1 });
    onHold = () => {
      onHold = () => {};
      throw new Error("no thread for you");
    };
    exchange.wake();
    await clock.settle();
    expect(troubles).toEqual(["claim"]);
    exchange.report(report("a"));
    await clock.settle();
    expect(sent).toEqual([["claim"], ["a", "claim"]]);
    expect([exchange.healthy, exchange.isIdle]).toEqual([true, true]);
  });

  test("a report that failed once and then went through is given its full time when it fails again", async () => {
    const exchange = exchanger({ inFlight: 2 });
    let broken = new Set(["a", "b"]);
    store = (ids) => {
      if (ids.some((id) => broken.has(id))) throw new TypeError("cannot read this");
    };
    const reports = ["a", "b"].map(report);
    for (const each of reports) exchange.report(each);
    await clock.settle();
    broken = new Set();
    await clock.advance("1s");
    expect(answered.sort()).toEqual(["a", "b"]);
    await clock.advance("1h");
    broken = new Set(["a", "b"]);
    for (const each of reports) exchange.report(each);
    await clock.advance("20s");
    expect(givenUp).toEqual([]);
    await clock.advance("30s");
    expect(givenUp.sort()).toEqual(["a", "b"]);
  });

  test("what is reported after the end is told as given up, like what waited at the end", async () => {
    const exchange = exchanger();
    exchange.report(report("waits"));
    exchange.stop();
    exchange.report(report("late"));
    expect([givenUp, troubles]).toEqual([
      ["waits", "late"],
      ["report", "report"],
    ]);
  });

  test("what was under way when the client was closed is told as given up", async () => {
    const exchange = exchanger();
    store = () => {
      throw new MillraceError("closed", "the client was closed");
    };
    exchange.report(report("a"));
    await clock.settle();
    expect([isClosed, givenUp, troubles]).toEqual([true, ["a"], ["report"]]);
  });
});
