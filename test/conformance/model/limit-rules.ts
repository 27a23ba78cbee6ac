/**
 * THE RULES OF LIMITS AND TURNS for one queue, in plain maps. They cannot say which of two lines goes first that have the same right to, so
 * they look at what the store chose: each job that started had to be allowed to, in its order, and nothing else may have been left that could
 * start. Then they go on from what was chosen.
 *
 * Where the contract leaves open when something is noticed (a rate of a key that changed, a place that an engine returns late), both are
 * possible: what `may` start, and what `must`.
 */
import type { KeyLimits, PerKeyLimits, QueueLimits } from "../../../src/core/limits.ts";
import type { Rate } from "../../../src/core/rate.ts";

/** A pending job. */
export interface Standing {
  readonly id: string;
  readonly type: string;
  readonly priority: number;
  readonly limitKey: string | null;
  /** 0 if it was suspended. */
  readonly cost: number;
  readonly runAt: number;
  readonly sequence: number;
}

export interface ClaimToFollow {
  readonly pending: readonly Standing[];
  /** The limit key of each job that runs. */
  readonly running: readonly (string | null)[];
  readonly types: readonly string[] | "*";
  readonly limit: number;
  readonly headStartMs: number;
  readonly now: number;
  /** What the store took, in its order. */
  readonly chosen: readonly string[];
}

/** What was wrong with the choice, and by when a job may start that waits for time; null if none surely does. */
export interface Verdict {
  readonly wrong: string | null;
  readonly nextInMs: number | null;
}

/** What settlements say of limits. */
export interface Said {
  readonly unstarted?: true | undefined;
  readonly holdMs?: number | undefined;
  readonly spend?: number | undefined;
}

const STRICT_MS = 8_796_093_022_208;
const NOTHING: PerKeyLimits = { running: null, rate: null, waiting: null };
/** Doubles near the present time are exact to less than this. */
const CLOSE_MS = 0.001;

/** Units that are not back yet, as the time that they take. */
interface Debt {
  readonly ms: number;
  readonly at: number;
  readonly intervalMs: number;
}

const NO_DEBT: Debt = { ms: 0, at: 0, intervalMs: 1 };

function left({ ms, at }: Debt, now: number): number {
  return Math.max(0, ms - (now - at));
}

/** By the rate that is in force now. */
function rescaled(debt: Debt, { periodMs, units }: Rate, now: number): Debt {
  const intervalMs = periodMs / units;
  if (debt.intervalMs === intervalMs) return debt;
  return { ms: (left(debt, now) / debt.intervalMs) * intervalMs, at: now, intervalMs };
}

function taken(debt: Debt, rate: Rate, units: number, now: number): Debt {
  const { intervalMs, ...by } = rescaled(debt, rate, now);
  return { ms: left({ ...by, intervalMs }, now) + units * intervalMs, at: now, intervalMs };
}

/** How long a start has to wait: not above 0 if it may start. */
function waitOf(debt: Debt, rate: Rate, cost: number, now: number): number {
  if (cost === 0) return Number.NEGATIVE_INFINITY;
  const by = rescaled(debt, rate, now);
  return left(by, now) - (rate.burst - Math.min(cost, rate.burst)) * by.intervalMs;
}

const may = (waitMs: number): boolean => waitMs <= CLOSE_MS;
const must = (waitMs: number): boolean => waitMs < -CLOSE_MS || waitMs === 0;

export class LimitRules {
  readonly #returnsLate: boolean;
  #limits: QueueLimits = { running: null, rate: null, perKey: NOTHING };
  readonly #own = new Map<string | null, KeyLimits>();
  /** As they were stored. */
  readonly #stored = new Map<string | null, string>();
  readonly #heldUntil = new Map<string, number>();
  #debt: Debt = NO_DEBT;
  /** What each key may owe. */
  readonly #debts = new Map<string, Debt[]>();
  /** Keys whose places may count as taken a while longer; null is the queue itself. */
  readonly #late = new Set<string | null>();
  readonly #rings = new Map<string, { time: number; tags: Map<string, number> }>();

  constructor(returnsLate: boolean) {
    this.#returnsLate = returnsLate;
  }

  setLimits(stored: string | null): void {
    this.#limits = stored === null ? { running: null, rate: null, perKey: NOTHING } : (JSON.parse(stored) as QueueLimits);
  }

  setKey(key: string | null, stored: string | null): void {
    this.#own.delete(key);
    this.#stored.delete(key);
    if (stored === null) return;
    this.#own.set(key, JSON.parse(stored) as KeyLimits);
    this.#stored.set(key, stored);
  }

  /** All keys with limits of their own: null first, then by their bytes. */
  own(): { key: string | null; limits: string }[] {
    const bytes = (key: string | null): string => (key === null ? "" : Buffer.from(key).toString("hex"));
    const all = Array.from(this.#stored, ([key, limits]) => ({ key, limits }));
    return all.sort((one, other) => (bytes(one.key) < bytes(other.key) ? -1 : 1));
  }

  heldUntil(key: string, now: number): number | null {
    const until = this.#heldUntil.get(key) ?? 0;
    return until > now ? until : null;
  }

  /** How many jobs of a key may wait. */
  waitingOf(key: string | null): number | null {
    return key === null ? null : this.#of(key).waiting;
  }

  #of(key: string): PerKeyLimits {
    const { weight: _, ...own } = this.#own.get(key) ?? {};
    return { ...this.#limits.perKey, ...own };
  }

  #weight(key: string | null): number {
    return this.#own.get(key)?.weight ?? 1;
  }

  /** A lease ended. */
  ended(key: string | null): void {
    if (!this.#returnsLate) return;
    this.#late.add(null);
    if (key !== null) this.#late.add(key);
  }

  said(
    { limitKey, cost }: { readonly limitKey: string | null; readonly cost: number },
    { unstarted, holdMs, spend = 0 }: Said,
    now: number,
  ): void {
    const units = spend - (unstarted === true ? cost : 0);
    if (units !== 0 && this.#limits.rate !== null) this.#debt = taken(this.#debt, this.#limits.rate, units, now);
    if (limitKey === null) return;
    const { rate } = this.#of(limitKey);
    if (units !== 0 && rate !== null) this.#change(limitKey, (debt) => taken(debt, rate, units, now));
    if (holdMs !== undefined) this.#heldUntil.set(limitKey, Math.max(this.#heldUntil.get(limitKey) ?? 0, now + holdMs));
  }

  #debtsOf(key: string): Debt[] {
    return this.#debts.get(key) ?? [NO_DEBT];
  }

  #change(key: string, change: (debt: Debt) => Debt): void {
    const debts = this.#debtsOf(key).map(change);
    this.#debts.set(
      key,
      debts.filter((debt, index) => debts.findIndex(({ ms, at }) => ms === debt.ms && at === debt.at) === index),
    );
  }

  // ── A claim ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  follow(claim: ClaimToFollow): Verdict {
    const { now, types, limit, chosen } = claim;
    this.#seeNewRates(now);
    const leases = new Map<string | null, number>();
    for (const key of claim.running) leases.set(key, (leases.get(key) ?? 0) + 1);
    let total = claim.running.length;
    const line = claim.pending.filter(({ type }) => types === "*" || types.includes(type));
    line.sort((one, other) => one.runAt - other.runAt || one.sequence - other.sequence);
    const isInTurns = claim.headStartMs === STRICT_MS && line.some(({ limitKey }) => limitKey !== null);
    if (chosen.length > limit) return wrong(`took ${chosen.length} jobs, limit ${limit}`);
    for (const id of chosen) {
      const job = line.find((one) => one.id === id);
      if (job === undefined) return wrong(`took ${id}, which was not pending`);
      const said =
        this.#notAllowed(job, total, leases.get(job.limitKey) ?? 0, now) ??
        this.#outOfOrder(job, line, isInTurns ? null : claim.headStartMs, leases, now);
      if (said !== null) return wrong(`${said}: took ${describe(job)} of ${line.map(describe).join(", ")}`);
      this.#start(job, now);
      line.splice(line.indexOf(job), 1);
      leases.set(job.limitKey, (leases.get(job.limitKey) ?? 0) + 1);
      total++;
    }
    return chosen.length < limit ? this.#rest(line, total, leases, now) : { wrong: null, nextInMs: null };
  }

  /** The store looks at the rate of the queue in any case, at that of a key if it comes to it. */
  #seeNewRates(now: number): void {
    if (this.#limits.rate !== null) this.#debt = rescaled(this.#debt, this.#limits.rate, now);
    for (const [key, debts] of this.#debts) {
      const { rate } = this.#of(key);
      if (rate === null) continue;
      const seen = debts.map((debt) => rescaled(debt, rate, now));
      this.#debts.set(key, [...debts, ...seen]);
      this.#change(key, (debt) => debt);
    }
  }

  #notAllowed({ limitKey, cost }: Standing, total: number, ofKey: number, now: number): string | null {
    const { running, rate } = this.#limits;
    if (running !== null && total >= running) return `the queue has ${total} leases of ${running}`;
    if (rate !== null && !may(waitOf(this.#debt, rate, cost, now))) return "the rate of the queue has no units";
    if (limitKey === null) return null;
    const own = this.#of(limitKey);
    if (this.heldUntil(limitKey, now) !== null) return "the key is held";
    if (own.running !== null && ofKey >= own.running) return `the key has ${ofKey} leases of ${own.running}`;
    const hasUnits = own.rate === null || this.#debtsOf(limitKey).some((debt) => may(waitOf(debt, own.rate!, cost, now)));
    return hasUnits ? null : "the rate of the key has no units";
  }

  /** How long the key of a job lets it wait for sure at the longest; null if a lease has to end first, or might have to. */
  #waitForKey({ limitKey, cost }: Standing, ofKey: number, now: number): number | null {
    if (limitKey === null) return 0;
    const { running, rate } = this.#of(limitKey);
    if (running !== null && (ofKey >= running || this.#late.has(limitKey))) return null;
    const held = Math.max(0, (this.#heldUntil.get(limitKey) ?? 0) - now);
    if (rate === null) return held;
    const waits = this.#debtsOf(limitKey).map((debt) => waitOf(debt, rate, cost, now));
    return Math.max(held, ...waits.map((wait) => (must(wait) ? 0 : Math.max(1, Math.ceil(wait)))));
  }

  #mustStart(job: Standing, leases: ReadonlyMap<string | null, number>, now: number): boolean {
    return this.#waitForKey(job, leases.get(job.limitKey) ?? 0, now) === 0;
  }

  /** Without a head start, jobs are taken in turns. */
  #outOfOrder(
    job: Standing,
    line: readonly Standing[],
    headStartMs: number | null,
    leases: ReadonlyMap<string | null, number>,
    now: number,
  ): string | null {
    const heads = headsOf(line);
    if (!heads.includes(job)) return "another job of its line was before it";
    const others = heads.filter((head) => head !== job && this.#mustStart(head, leases, now));
    if (headStartMs !== null) {
      const rank = ({ runAt, priority }: Standing): number => runAt - priority * headStartMs;
      const first = others.find((other) => rank(other) < rank(job) || (rank(other) === rank(job) && other.sequence < job.sequence));
      return first === undefined ? null : `${describe(first)} has a lower rank`;
    }
    const higher = others.find((other) => other.priority > job.priority);
    if (higher !== undefined) return `${describe(higher)} has a higher priority`;
    return this.#outOfTurn(
      job,
      others.filter(({ type, priority, limitKey }) => type === job.type && priority === job.priority && limitKey !== null),
    );
  }

  /** Only what no choice between equal tags, and nothing that a store forgets of empty lines, can explain. conformance/store/turns.ts is exact. */
  #outOfTurn(job: Standing, others: readonly Standing[]): string | null {
    if (job.limitKey === null) return null;
    const { time, tags } = this.#ring(job);
    const tagOf = (key: string): number => Math.max(time, tags.get(key) ?? 0);
    const patient = others.find(({ limitKey: other }) => {
      return tagOf(job.limitKey!) > tagOf(other!) + 1 / this.#weight(other) + 1 / this.#weight(job.limitKey) + 1e-9;
    });
    return patient === undefined ? null : `it is the turn of ${describe(patient)}`;
  }

  #ring({ type, priority }: Standing): { time: number; tags: Map<string, number> } {
    const name = `${type} ${priority}`;
    const ring = this.#rings.get(name) ?? { time: 0, tags: new Map<string, number>() };
    this.#rings.set(name, ring);
    return ring;
  }

  #start(job: Standing, now: number): void {
    const { limitKey, cost } = job;
    this.#late.delete(null);
    this.#late.delete(limitKey);
    if (this.#limits.rate !== null) this.#debt = taken(this.#debt, this.#limits.rate, cost, now);
    if (limitKey === null) return;
    const ring = this.#ring(job);
    ring.time = Math.max(ring.time, ring.tags.get(limitKey) ?? 0);
    ring.tags.set(limitKey, ring.time + 1 / this.#weight(limitKey));
    const { rate } = this.#of(limitKey);
    if (rate === null) return;
    // What it cannot have owed, because it started, it did not owe.
    this.#debts.set(
      limitKey,
      this.#debtsOf(limitKey).filter((debt) => may(waitOf(debt, rate, cost, now))),
    );
    this.#change(limitKey, (debt) => taken(debt, rate, cost, now));
  }

  /** What was left: nothing that must start. */
  #rest(line: readonly Standing[], total: number, leases: ReadonlyMap<string | null, number>, now: number): Verdict {
    const { running, rate } = this.#limits;
    if (running !== null && (total >= running || this.#late.has(null))) return { wrong: null, nextInMs: null };
    const waits = headsOf(line).flatMap((head) => {
      const forKey = this.#waitForKey(head, leases.get(head.limitKey) ?? 0, now);
      const wait = rate === null ? 0 : waitOf(this.#debt, rate, head.cost, now);
      return forKey === null ? [] : [{ head, ms: Math.max(forKey, must(wait) ? 0 : Math.max(1, Math.ceil(wait))), forKey }];
    });
    // One that costs more than the queue has units for is waited for, also by others that cost less.
    const isHeldUp = waits.some(({ ms, forKey }) => forKey === 0 && ms > 0);
    const left = isHeldUp ? undefined : waits.find(({ ms }) => ms === 0);
    if (left !== undefined) return wrong(`${describe(left.head)} could have started`);
    const later = waits.map(({ ms }) => ms).filter((ms) => ms > 0);
    return { wrong: null, nextInMs: later.length === 0 ? null : isHeldUp ? Math.max(...later) : Math.min(...later) };
  }
}

/** The first of each line of pending jobs, which are in the order of their due times. */
function headsOf(line: readonly Standing[]): Standing[] {
  const heads = new Map<string, Standing>();
  for (const job of line) {
    const name = JSON.stringify([job.type, job.priority, job.limitKey]);
    if (!heads.has(name)) heads.set(name, job);
  }
  return [...heads.values()];
}

function wrong(what: string): Verdict {
  return { wrong: what, nextInMs: null };
}

function describe({ id, type, priority, limitKey, cost }: Standing): string {
  return `${id.slice(-6)} (${type}, priority ${priority}, key ${limitKey}, cost ${cost})`;
}
