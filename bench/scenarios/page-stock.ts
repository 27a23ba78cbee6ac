/**
 * WHAT IS STORED WHEN PAGES ARE MEASURED. Jobs run under a clock that goes through the last 30 days, so counters and histograms are written
 * by the store's own verbs, and swept as upkeep does it.
 */
import { type Client, connect, type JobPage } from "../../src/index.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/time-units.ts";
import type { Outcome } from "../../src/core/lifecycle.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import type { Place } from "../places/place.ts";
import { PAYLOAD } from "../payload.ts";

const QUEUES = ["default", "mail", "reports", "sync", "thumbnails"];
const PRIORITIES = ["low", "default", "high", "critical"] as const;
const TYPES = 20;
const AT_ONCE = 10_000;
/** Jobs that are claimed together have waited equally long. */
const CLAIMED_AT_ONCE = 60;
const WORKERS = 20;
const AUDIT_ENTRIES = 500;
const SCHEDULES = 20;
const RUNS_FOR_A_DEATH = 500;
/** Words that make errors differ, so that each pair of them is a group. */
const FAULTS = ["boom", "timeout", "refused", "denied", "missing", "full", "late", "broken", "unknown", "busy"];

const DAYS = 30;
/** These minutes have as many jobs as that many hours before them: their histograms are not yet those of an hour. */
const LAST_MINUTES = 130;
const KEEP = { minutesMs: 2 * DAY_MS, hoursMs: DAYS * DAY_MS };
const SWEPT_AT_ONCE = 10_000;

/** Ids and names that paths need. */
export interface Stock {
  readonly waiting: string;
  readonly ended: string;
  readonly dead: string;
  readonly group: string;
}

/** Half of the jobs have ended in the last 30 days, some of them dead; the other half waits, a tenth of it scheduled. */
export async function stock({ url }: Pick<Place, "url">, jobs: number): Promise<Stock> {
  const past = new PastClock(Date.now() - DAYS * DAY_MS);
  const client = await connect(url, { clock: past });
  const store = await openStore(url, { clock: past });
  try {
    await configure(client, jobs);
    await liveThrough({ client, store, past, numbers: counting() }, jobs / 2);
    await add(client, counting(), jobs / 2, true);
    await addOthers(client, store);
    const [group] = (await client.dead.groups()).groups;
    if (group !== undefined) await client.dead.mute(group.group);
    return {
      waiting: await newest(client, "pending"),
      ended: await newest(client, "completed"),
      dead: await newest(client, "dead"),
      group: group?.group ?? "",
    };
  } finally {
    await client.close();
    await store.close();
  }
}

async function configure(client: Client, jobs: number): Promise<void> {
  for (const name of QUEUES) await client.configure(name, { retention: { count: 10 * jobs, age: "60d" } });
  await client.configure("mail", { facets: ["customer", "region"] });
}

// ── The last 30 days ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Life {
  readonly client: Client;
  readonly store: Store;
  readonly past: PastClock;
  readonly numbers: () => number;
}

/** 0, 1, 2 and so on. */
function counting(): () => number {
  let next = 0;
  return () => next++;
}

/** As many jobs in each hour as in each of the last minutes, whose histograms are not yet those of an hour. */
async function liveThrough(life: Life, jobs: number): Promise<void> {
  const now = Date.now();
  const recent = now - LAST_MINUTES * MINUTE_MS;
  const first = now - DAYS * DAY_MS + HOUR_MS;
  const share = Math.floor(jobs / ((recent - first) / HOUR_MS + LAST_MINUTES));
  for (let at = first; at < recent; at += HOUR_MS) await runSome(life, at, HOUR_MS / 2, share);
  for (let at = recent; at < now - MINUTE_MS; at += MINUTE_MS) await runSome(life, at, MINUTE_MS / 2, share);
  life.past.moveTo(now);
}

/** Enqueues jobs, runs them within `spanMs`, and sweeps. */
async function runSome({ client, store, past, numbers }: Life, at: number, spanMs: number, jobs: number): Promise<void> {
  past.moveTo(at);
  await add(client, numbers, jobs, false);
  const claim = { workerId: "w0", queues: QUEUES, types: "*", limit: CLAIMED_AT_ONCE, leaseMs: HOUR_MS, turn: 0, again: false } as const;
  const claims = Math.ceil(jobs / CLAIMED_AT_ONCE);
  for (let nth = 1; nth <= claims; nth++) {
    past.moveTo(at + Math.round(spanMs ** (nth / claims)));
    const { jobs: claimed } = await client.leases.exchange([], claim);
    const reports = claimed.map(({ job: { id, payload }, fence, facts }) => ({ id, fence, facts, outcome: outcomeOf(payload) }));
    await client.leases.exchange(reports, null);
  }
  while ((await store.sweep(KEEP, SWEPT_AT_ONCE)).removed >= SWEPT_AT_ONCE);
}

/** Run times from 4 ms to 4 minutes. */
function outcomeOf(payload: unknown): Outcome {
  const { order } = (payload as ReturnType<typeof newJob>["payload"]).data;
  const runMs = 2 ** (2 + 16 * Math.random());
  if (order % RUNS_FOR_A_DEATH !== 0) return { kind: "completed", result: null, runMs };
  const death = order / RUNS_FOR_A_DEATH;
  const message = `${FAULTS[death % FAULTS.length]} ${FAULTS[Math.floor(death / FAULTS.length) % FAULTS.length]}`;
  return { kind: "discard", error: { name: "Error", message, stack: null, kind: "error", version: "1.4.2" }, runMs };
}

/** The time of the last days: it goes on only when it is told to, and timers are those of the system. */
class PastClock implements Clock {
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  moveTo(now: number): void {
    this.#now = Math.max(this.#now, now);
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  setTimer(callback: () => void, ms: number): ReturnType<Clock["setTimer"]> {
    return systemClock.setTimer(callback, ms);
  }
}

// ── Jobs and others ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function add(client: Client, numbers: () => number, jobs: number, withDelayed: boolean): Promise<void> {
  for (let done = 0; done < jobs; done += AT_ONCE) {
    const items = Array.from({ length: Math.min(AT_ONCE, jobs - done) }, () => newJob(numbers(), withDelayed));
    const refused = (await client.enqueueMany(items)).find((result) => !result.ok);
    if (refused !== undefined) throw refused.error;
  }
}

/** Most jobs are in `mail`, which has all types. */
function newJob(number: number, withDelayed: boolean) {
  return {
    type: `t${number % TYPES}`,
    queue: number % 5 === 0 ? QUEUES[Math.floor(number / 5) % QUEUES.length]! : "mail",
    priority: PRIORITIES[Math.floor(number / 7) % PRIORITIES.length]!,
    payload: { ...PAYLOAD, customer: `c${number % 47}`, region: `r${number % 3}`, data: { order: number } },
    tags: number % 1000 === 0 ? ["rare", "vip"] : [],
    delay: withDelayed && number % 10 === 3 ? "7d" : 0,
  } as const;
}

async function addOthers(client: Client, store: Store): Promise<void> {
  const use = { minutes: Array.from({ length: 60 }, (_, at) => at), hours: Array.from({ length: 24 }, (_, at) => at) };
  for (let number = 0; number < 2 * WORKERS; number++) {
    const id = `worker-${number}`;
    const counts = { slots: 50, runningCount: 0, processed: 1000, perMinute: 10, abandoned: 0, use };
    const entry = {
      id,
      host: "bench",
      pid: number,
      state: "busy",
      queues: QUEUES,
      types: "*",
      startedAt: Date.now(),
      running: [],
    } as const;
    await store.register({ ...entry, ...counts }, DAY_MS);
    if (number >= WORKERS) await store.unregister(id);
  }
  const entry = { action: "queue:paused", by: "bench", reason: null, jobId: null, schedule: null, details: null } as const;
  await store.writeAudit(Array.from({ length: AUDIT_ENTRIES }, (_, number) => ({ ...entry, queue: QUEUES[number % QUEUES.length]! })));
  for (let number = 0; number < SCHEDULES; number++) await client.schedules.upsert({ name: `s${number}`, type: "t1", cron: "0 3 * * *" });
}

/** Reads pages until there is a job: an empty page may not be the last. */
async function newest(client: Client, status: string): Promise<string> {
  let cursor: string | null = null;
  do {
    const page: JobPage = await client.list({ status, limit: 1, cursor });
    if (page.jobs[0] !== undefined) return page.jobs[0].id;
    cursor = page.cursor;
  } while (cursor !== null);
  throw new Error(`there is no ${status} job`);
}
