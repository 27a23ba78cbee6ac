import type { Status } from "../../src/core/job.ts";
import type { Answered, Asked, Granted, Line, Phase, Seen, SentJob, Sight, StoredJob, Verb } from "./line.ts";
import { type Begun, Recorder } from "./recorder.ts";

/** What the engine's clock shows at the beginning of a tale. */
export const NOON: number = Date.UTC(2030, 0, 1, 12);

const LEASE_MS = 10_000;
const SIGN_EVERY_MS = 90;

/**
 * A history told by hand, in the words of those who took part. A millisecond passes with every line; `wait` lets more pass. What is not said
 * is as usual.
 */
export class Tale {
  readonly lines: Line[] = [];
  #now = 0;
  #turn = 0;
  /** When the jobs that were accepted are due. */
  readonly #dueAt = new Map<string, number>();
  readonly #recorders = new Map<string, Recorder>();

  constructor() {
    this.see("clock", { engine: NOON, withinMs: 0 });
  }

  get now(): number {
    return this.#now;
  }

  /** The engine's time of this moment. */
  get engine(): number {
    return NOON + this.#now;
  }

  /** When a job that was accepted is due. */
  dueAt(job: string): number {
    return this.#dueAt.get(job) ?? this.engine;
  }

  wait(ms: number): this {
    this.#now += ms;
    return this;
  }

  by(name: string): Recorder {
    const known = this.#recorders.get(name);
    if (known !== undefined) return known;
    const recorder = new Recorder({ by: name, now: () => this.#now++, write: (line) => void this.lines.push(line) });
    this.#recorders.set(name, recorder);
    return recorder;
  }

  begin<V extends Verb>(verb: V, ask: Asked[V], by = "p"): Begun<V> {
    return this.by(by).begin(verb, ask);
  }

  /** A call and its answer, one after the other. */
  call<V extends Verb>(verb: V, ask: Asked[V], phase: Phase, answer: Answered[V], by = "p"): this {
    this.begin(verb, ask, by).end(phase, answer);
    return this;
  }

  see<S extends Sight>(sight: S, seen: Seen[S], by = "world"): this {
    this.by(by).see(sight, seen);
    return this;
  }

  // ── Producers ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  insert(job: string, wishes: Partial<SentJob> = {}, phase: Phase = "ok", answer: Answered["insert"] = {}): this {
    const sent = sentJob(job, wishes);
    const begun = this.begin("insert", sent);
    const createdAt = this.engine;
    const runAt = Math.max(createdAt, sent.runAt ?? createdAt + sent.delayMs);
    const created = { kind: "created", status: runAt > createdAt ? "scheduled" : "pending", createdAt, runAt } as const;
    begun.end(phase, phase === "ok" ? { ...created, ...answer } : answer);
    if (phase === "ok") this.#dueAt.set(job, answer.runAt ?? runAt);
    return this;
  }

  // ── Workers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  up(worker: string, wishes: Partial<Seen["up"]> = {}): this {
    return this.see("up", { worker, slots: 10, queues: ["q"], types: "*", leaseMs: LEASE_MS, pollMs: 1_000, ...wishes }, worker);
  }

  /** Time passes in which the loops of these workers turn, and the store takes writes. */
  healthy(ms: number, ...workers: readonly string[]): this {
    for (const until = this.#now + ms; this.#now < until; this.wait(SIGN_EVERY_MS)) {
      this.see("probe", {});
      for (const worker of workers) this.see("pulse", {}, worker);
    }
    return this;
  }

  beginClaim(worker: string, wishes: Partial<Asked["claim"]> = {}): Begun<"claim"> {
    const turn = ++this.#turn;
    return this.begin("claim", { worker, queues: ["q"], types: "*", limit: 10, leaseMs: LEASE_MS, turn, again: false, ...wishes }, worker);
  }

  /** A lease that is granted at this moment. */
  lease(job: string, fence: number, wishes: Partial<Granted> = {}): Granted {
    const startedAt = this.engine;
    const usual = {
      queue: "q",
      attempt: fence,
      retryCount: fence - 1,
      lostCount: 0,
      runAt: startedAt,
      startedAt,
      leaseUntil: startedAt + LEASE_MS,
    };
    return { job, fence, ...usual, ...wishes };
  }

  /** Claims jobs and starts their handlers. */
  claim(worker: string, ...jobs: readonly (readonly [job: string, fence: number, wishes?: Partial<Granted>])[]): this {
    const begun = this.beginClaim(worker);
    begun.end("ok", {
      granted: jobs.map(([job, fence, wishes]) => this.lease(job, fence, { runAt: this.dueAt(job), ...wishes })),
    });
    for (const [job, fence] of jobs) this.start(worker, job, fence);
    return this;
  }

  start(worker: string, job: string, fence: number, print = printFor(job)): this {
    return this.see("start", { worker, job, fence, print }, worker);
  }

  settle(worker: string, job: string, fence: number, wishes: Partial<Asked["settle"]> = {}, phase: Phase = "ok"): this {
    return this.call("settle", settlement(job, fence, wishes), phase, phase === "fail" ? { answer: "stale" } : {}, worker);
  }

  /** The handler ends well, and its worker says so. */
  complete(worker: string, job: string, fence: number, phase: Phase = "ok"): this {
    return this.see("end", { worker, job, fence, how: "ok" }, worker).settle(worker, job, fence, {}, phase);
  }

  /** The handler throws; a retry follows after a second. */
  fail(worker: string, job: string, fence: number, wishes: Partial<Asked["settle"]> = {}, phase: Phase = "ok"): this {
    this.see("end", { worker, job, fence, how: "error" }, worker);
    return this.settle(worker, job, fence, { ...FAILURE, ...wishes }, phase);
  }

  die(worker: string, job: string, fence: number, phase: Phase = "ok"): this {
    return this.fail(worker, job, fence, { to: "dead", delayMs: null }, phase);
  }

  /** Upkeep takes a lease for lost. */
  lose(job: string, fence: number, wishes: Partial<Asked["settle"]> = {}, phase: Phase = "ok"): this {
    return this.settle("upkeep", job, fence, { ...FAILURE, outcome: "lost", ifExpired: true, ...wishes }, phase);
  }

  extend(worker: string, job: string, fence: number, phase: Phase = "ok"): this {
    return this.call("extend", { job, fence, leaseMs: LEASE_MS }, phase, {}, worker);
  }

  // ── Operators, and the end ─────────────────────────────────────────────────────────────────────────────────────────────────────

  change(verb: "cancel" | "retry" | "run-now", job: string, was: Status, phase: Phase = "ok"): this {
    return this.call(verb, { job }, phase, phase === "ok" ? { was } : phase === "fail" ? { status: was } : {}, "operator");
  }

  remove(job: string, was: Status, phase: Phase = "ok"): this {
    return this.call(
      "remove",
      { job, from: ["completed", "failed", "dead", "cancelled"] },
      phase,
      phase === "ok" ? { was } : {},
      "operator",
    );
  }

  configure(queue: string, change: Asked["configure"]["change"], phase: Phase = "ok"): this {
    return this.call("configure", { queue, change }, phase, {}, "operator");
  }

  limitKey(queue: string, key: string | null, limits: string | null, phase: Phase = "ok"): this {
    return this.call("limit-key", { queue, key, limits }, phase, {}, "operator");
  }

  /** The dump at the end: these jobs, and nothing else. */
  dump(...jobs: readonly (readonly [job: string, status: Status, wishes?: Partial<StoredJob>])[]): readonly Line[] {
    for (const [job, status, wishes] of jobs) this.see("stored-job", storedJob(job, status, this.engine, wishes));
    this.see("dumped", { engine: this.engine, expired: [] });
    return this.lines;
  }
}

/** What a failed attempt says by default: a retry after a second. */
const FAILURE = { outcome: "failed", to: "retrying", delayMs: 1_000, result: null, error: "boom" } as const;

function printFor(job: string): string {
  return `print of ${job}`;
}

/** A job as it is sent. */
export function sentJob(job: string, wishes: Partial<SentJob> = {}): SentJob {
  return {
    job,
    queue: "q",
    type: "t",
    priority: 0,
    maxRetries: 3,
    maxLost: 3,
    retryDelayMs: 1_000,
    delayMs: 0,
    runAt: null,
    key: null,
    keyTtlMs: 60_000,
    print: printFor(job),
    ...wishes,
  };
}

export function settlement(job: string, fence: number, wishes: Partial<Asked["settle"]>): Asked["settle"] {
  const completed = { outcome: "completed", to: "completed", delayMs: null, result: "done", error: null } as const;
  return { job, fence, ...completed, ifExpired: false, made: null, ...wishes };
}

/** A job as the dump shows it. */
export function storedJob(job: string, status: Status, now: number, wishes: Partial<StoredJob> = {}): StoredJob {
  const { attempt = 1 } = wishes;
  const last = status === "completed" ? ({ outcome: "completed", kind: null } as const) : ({ outcome: "failed", kind: "error" } as const);
  const attempts = Array.from({ length: attempt }, (_, index) => {
    return { number: index + 1, endedAt: null, ...(index === attempt - 1 ? last : { outcome: "failed" as const, kind: "error" as const }) };
  });
  return {
    job,
    queue: "q",
    type: "t",
    priority: 0,
    status,
    print: printFor(job),
    key: null,
    retryCount: 0,
    maxRetries: 3,
    lostCount: 0,
    maxLost: 3,
    attempt,
    fence: attempt,
    result: status === "completed" ? "done" : null,
    error: status === "dead" || status === "failed" ? "boom" : null,
    createdAt: now,
    runAt: now,
    completedAt: now,
    attempts,
    ...wishes,
  };
}

/** The attempts of a job whose first lease was lost and whose second completed it. */
export const lostThenDone = [
  { number: 1, endedAt: null, outcome: "failed", kind: "lost" },
  { number: 2, endedAt: null, outcome: "completed", kind: null },
] as const;
