/**
 * THE STEPS OF ONE ATTEMPT: what its handler keeps, and what it waits for.
 *
 *   running ─→ quiet      the handler has reached waits that have not ended, no step runs, and a turn of the event loop began nothing new
 *                ↓        (if it may go on after a race, it gets a grace first: see race-watch.ts)
 *           suspended     the attempt is over. The waits of the handler never settle, so neither `catch` nor `finally` of it runs
 *
 * The turn of the event loop lets all waits of a `Promise.all` be registered, and lets the handler go on after a step that ran beside a wait.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { CallOptions, DefinitionOf, LeaseAnswer, LeasedJob, Leases, SignalUrlOptions, WaitForOptions } from "../client/client.ts";
import { checkPayload } from "../core/check-payload.ts";
import { MAX_DELAY_MS } from "../core/duration.ts";
import { invalid, isStoreTrouble, MillraceError } from "../core/errors.ts";
import { typeOfKind } from "../core/job-definition.ts";
import { JOB_DEFAULTS, type JobOptions, readJobOptions } from "../core/job-options.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "../core/json.ts";
import type { Outcome } from "../core/lifecycle.ts";
import { readDuration, readTime } from "../core/read-fields.ts";
import { MAX_LINK_PAYLOAD_BYTES, readLinkTtl } from "../core/signal-links.ts";
import {
  CallFailed,
  type CallError,
  type CallRequest,
  detailOf,
  MAX_STEPS,
  type NewStep,
  readStepName,
  stepDoesNotFit,
  type StepRecord,
} from "../core/steps.ts";
import { A_TIME } from "../core/time-words.ts";
import { type Clock, sleep } from "../lib/clock.ts";
import { retryPauseMs } from "./delayed-reports.ts";
import { raceGrace, RaceWatch } from "./race-watch.ts";
import { over, taken } from "./step-errors.ts";
import { calledJob, describeIssue, detail, encodeValue, parse, waitDetail, withRefusal } from "./step-texts.ts";

/** What the steps need of their attempt. */
export interface StepsOwner {
  readonly lease: LeasedJob;
  readonly isOver: boolean;
  /** Whether it is not over, and its lease is not known to be gone. */
  readonly holdsLease: boolean;
  /** Its handler has other jobs in the same call. */
  readonly isOfMany: boolean;
  /** When it times out, by the monotonic clock; Infinity if it does not. */
  readonly deadlineAt: number;
  /** The store says that the lease is gone. */
  gone(why: "stale" | "cancelled"): void;
  /** The handler waits, and nothing else of it runs: it never ends by itself. Also told if the attempt is over. */
  suspend(outcome: Outcome & { readonly kind: "suspend" }): void;
  /** A step was stored: retries and losses count from 0 again. */
  progressed(): void;
}

/** How often the steps are read before the attempt is given back: about 3 s. */
const MAX_READS = 6;

/**
 * The step whose function runs, if one does: a wait inside of it could never end. With the attempt that it belongs to: a function that
 * enqueues a job may wake a worker of this process, and the handler of that job then runs in the same asynchronous context.
 */
const insideStep = new AsyncLocalStorage<{ readonly of: DurableSteps; readonly name: string }>();

export class DurableSteps {
  readonly #owner: StepsOwner;
  readonly #leases: Leases;
  readonly #clock: Clock;
  readonly #stored = new Map<string, StepRecord>();
  /** The store's time less ours. Undefined until somebody asked for it. */
  #storeAheadMs: number | undefined;
  #asksForTime: Promise<void> | undefined;
  /** That of the job. One that never had a step is in its first. */
  #life: number | undefined = 1;
  readonly #used = new Set<string>();
  /** How many names were used that no earlier attempt stored. */
  #added = 0;
  readonly #waits = new Map<string, NewStep & { readonly reachedAt: number }>();
  readonly #calls: CallRequest[] = [];
  #underWay = 0;
  /** Goes up with everything that the handler begins. */
  #begun = 0;
  readonly #races = new RaceWatch();
  #isLooking = false;
  /** What was begun when the grace after a race began, if one did. */
  #graceAt = -1;
  /** Aborted when the handler has ended. */
  readonly #ended = new AbortController();
  #isSuspended = false;

  constructor(owner: StepsOwner, leases: Leases, clock: Clock) {
    this.#owner = owner;
    this.#leases = leases;
    this.#clock = clock;
  }

  /** Reads what earlier attempts kept. False if the lease is gone. Rejects if the store does not answer, after a few tries with pauses. */
  async read(): Promise<boolean> {
    const page = await this.#ask(MAX_READS);
    if (page === null) return false;
    for (const step of page.steps) this.#stored.set(step.name, step);
    this.#life = page.life;
    return true;
  }

  async #ask(most: number): ReturnType<Leases["readSteps"]> {
    const { job, fence } = this.#owner.lease;
    for (let failures = 1; ; failures++) {
      try {
        const page = await this.#leases.readSteps({ id: job.id, fence });
        if (page !== null) this.#storeAheadMs = page.now - this.#clock.now();
        return page;
      } catch (error) {
        if (failures >= most || !this.#owner.holdsLease) throw error;
        await this.#pause(failures);
      }
    }
  }

  // ── What a handler calls ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async step(name: unknown, run: () => unknown): Promise<unknown> {
    if (typeof run !== "function") throw invalid("run", "a function", run);
    const step = this.#begin(name);
    if (step === null) return never();
    const stored = this.#stored.get(step);
    if (stored?.kind === "step" && stored.state === "done") return parse(stored.value);
    return this.#whileUnderWay(async () => {
      const startedAt = this.#clock.monotonic();
      const result: unknown = await insideStep.run({ of: this, name: step }, run);
      const value = encodeValue(result, `the result of step "${step}"`);
      const runMs = Math.max(0, Math.round(this.#clock.monotonic() - startedAt));
      await this.#keep({ name: step, kind: "step", state: "done", value, untilMs: null, detail: detail({ runMs }) });
      return parse(value);
    });
  }

  async sleep(name: unknown, time: unknown): Promise<void> {
    const ms = readDuration(time, "time", "a time of at most 10 years", MAX_DELAY_MS);
    const step = this.#begin(name, "a sleep");
    return step === null ? never() : this.#sleepFor(step, ms);
  }

  async sleepUntil(name: unknown, time: unknown): Promise<void> {
    const at = readTime(time);
    if (at === undefined || at > this.#storeNow() + MAX_DELAY_MS) throw invalid("time", `${A_TIME}, at most 10 years ahead`, time);
    const step = this.#begin(name, "a sleep");
    if (step === null) return never();
    // One that is stored keeps its time.
    if (!this.#stored.has(step)) await this.#whileUnderWay(() => (this.#asksForTime ??= this.#askForTime()));
    return this.#sleepFor(step, Math.min(MAX_DELAY_MS, Math.max(0, at - this.#storeNow())));
  }

  async waitFor(name: unknown, options: WaitForOptions = {}): Promise<unknown> {
    const { timeout, schema } = options;
    if (schema !== undefined && typeof schema?.["~standard"]?.validate !== "function") throw invalid("schema", "a Standard Schema", schema);
    const untilMs = timeout === undefined ? null : readDuration(timeout, "timeout", "a time of at most 10 years", MAX_DELAY_MS);
    const step = this.#begin(name, "a wait");
    if (step === null) return never();
    const stored = this.#stored.get(step);
    if (stored?.kind === "wait" && stored.state === "timeout") {
      this.#races.ended(step, "wait", stored.endedAt);
      return null;
    }
    const wait: NewStep = { name: step, kind: "wait", state: "open", value: null, untilMs, detail: waitDetail(schema, stored) };
    if (stored?.kind !== "wait" || stored.state !== "done") return this.#wait(wait);
    const payload = parse(stored.value);
    const result = schema === undefined ? null : await this.#whileUnderWay(async () => schema["~standard"].validate(payload));
    if (result?.issues === undefined) {
      this.#races.ended(step, "wait", stored.endedAt);
      return result === null ? payload : result.value;
    }
    await this.#whileUnderWay(() => this.#refuse(wait, stored, describeIssue(result.issues[0])));
    return this.#wait(wait);
  }

  call(name: unknown, kind: string | DefinitionOf<unknown>, payload: unknown, options: CallOptions = {}): Promise<unknown> {
    const called = this.#call(name, kind, payload, options);
    // A failure that is kept comes at once in each later attempt. The handler may await it only behind another wait, at which it is suspended:
    // that must not end the process.
    called.catch(() => {});
    return called;
  }

  async #call(name: unknown, kind: string | DefinitionOf<unknown>, payload: unknown, options: CallOptions): Promise<unknown> {
    const step = this.#begin(name, "a call");
    if (step === null) return never();
    const stored = this.#stored.get(step);
    if (stored?.kind === "call" && stored.state !== "open") this.#races.ended(step, "call", stored.endedAt);
    if (stored?.kind === "call" && stored.state === "done") return parse(stored.value);
    if (stored?.kind === "call" && stored.state === "failed")
      throw new CallFailed(step, parse(stored.value) as CallError, calledJob(stored));
    // The step of a call says which job was called, and it can only say so if nothing else has the name.
    if (stored !== undefined && stored.kind !== "call") throw taken(step, stored);
    // A schema may take its time: the attempt must not be suspended without this call.
    if (stored === undefined)
      await this.#whileUnderWay(async () => this.#calls.push({ step, ...(await this.#readCall(kind, payload, options)) }));
    return this.#wait({ name: step, kind: "call", state: "open", value: null, untilMs: null, detail: stored?.detail ?? null });
  }

  async signalUrl(name: unknown, { ttl, payload }: SignalUrlOptions = {}): Promise<string> {
    const ttlMs = readLinkTtl(ttl);
    const text = payload === undefined ? null : encodeJson(payload, "payload", MAX_LINK_PAYLOAD_BYTES);
    return this.#leases.signalUrl(this.#owner.lease.job.id, readStepName(name, "name"), ttlMs, text);
  }

  /** The time of the store, by which jobs wake: the clock of this machine may be wrong. Ours, while nobody has asked. */
  #storeNow(): number {
    return this.#clock.now() + (this.#storeAheadMs ?? 0);
  }

  async #askForTime(): Promise<void> {
    if (this.#storeAheadMs !== undefined || (await this.#ask(Infinity)) !== null) return;
    this.#owner.gone("stale");
    throw over(this.#owner.lease.job.id);
  }

  // ── Waiting ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Checks a name and marks it as used. Null: the attempt was suspended, so what the handler still does is not done. */
  #begin(name: unknown, wait?: string): string | null {
    const step = readStepName(name, "name");
    if (this.#isSuspended) return null;
    if (this.#owner.isOver) throw over(this.#owner.lease.job.id);
    if (wait !== undefined && this.#owner.isOfMany) {
      const message = `${wait} ("${step}") cannot be used in a handler of many jobs: the others would wait, too. Steps can`;
      throw new MillraceError("invalid_input", message, { field: "name" });
    }
    const around = insideStep.getStore();
    if (wait !== undefined && around?.of === this) {
      const message = `${wait} ("${step}") cannot be inside the function of a step ("${around.name}"): the step could never end. Put it after the step`;
      throw new MillraceError("invalid_input", message, { field: "name" });
    }
    if (this.#used.has(step)) {
      throw new MillraceError("invalid_input", `the name "${step}" is used twice in one attempt: each step needs a name of its own`, {
        field: "name",
      });
    }
    if (!this.#stored.has(step) && this.#stored.size + this.#added >= MAX_STEPS) throw this.#doesNotFit(step);
    if (!this.#stored.has(step)) this.#added++;
    this.#used.add(step);
    this.#races.begun(step);
    this.#begun++;
    this.#lookForQuiet();
    return step;
  }

  #sleepFor(step: string, untilMs: number): Promise<void> {
    const stored = this.#stored.get(step);
    const isOver = stored?.kind === "sleep" ? stored.state === "done" : untilMs === 0;
    if (!isOver) return this.#wait({ name: step, kind: "sleep", state: "open", value: null, untilMs, detail: null });
    this.#races.ended(step, "sleep", stored?.endedAt ?? null);
    return Promise.resolve();
  }

  async #wait(wait: NewStep): Promise<never> {
    const stored = this.#stored.get(wait.name);
    if (stored !== undefined && stored.kind !== wait.kind) await this.#whileUnderWay(() => this.#beginAnew(wait, stored));
    this.#waits.set(wait.name, { ...wait, reachedAt: this.#clock.monotonic() });
    this.#races.waits(wait.name, wait.kind, stored !== undefined);
    this.#lookForQuiet();
    return never();
  }

  /** The attempt is not suspended before this has ended. */
  async #whileUnderWay<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#underWay++;
    try {
      return await work();
    } finally {
      this.#underWay--;
      this.#lookForQuiet();
    }
  }

  /** Suspends the attempt once nothing of the handler runs. What it does outside of steps is not waited for. */
  #lookForQuiet(): void {
    if (this.#isLooking || this.#waits.size === 0) return;
    this.#isLooking = true;
    const before = this.#begun;
    setImmediate(() => {
      this.#isLooking = false;
      if (this.#underWay > 0) return;
      if (this.#begun !== before) return this.#lookForQuiet();
      if (!this.#races.mayBeLost || this.#owner.isOver) return this.#suspend();
      if (this.#graceAt === this.#begun) return;
      this.#graceAt = this.#begun;
      void this.#suspendAfterGrace();
    });
  }

  #suspend(): void {
    if (!this.#owner.isOver) this.#isSuspended = true;
    const now = this.#clock.monotonic();
    // They count from where the handler reached them: a step or a grace may have taken its time since.
    const waits = Array.from(this.#waits.values(), ({ reachedAt, untilMs, ...wait }) => {
      return { ...wait, untilMs: untilMs === null ? null : Math.max(0, Math.round(untilMs - (now - reachedAt))) };
    });
    this.#owner.suspend({ kind: "suspend", waits, calls: this.#calls, life: this.#life });
  }

  /** Unless the handler begins something meanwhile. Half of the time to the timeout of the attempt is left: to run into it costs a retry. */
  async #suspendAfterGrace(): Promise<void> {
    const before = this.#begun;
    const leftMs = this.#owner.deadlineAt - this.#clock.monotonic();
    const isAwake = (): boolean => this.#begun !== before || this.#ended.signal.aborted;
    await raceGrace(this.#clock, leftMs / 2, async () => isAwake() || (await this.#hasWaitEnded()), this.#ended.signal);
    if (!isAwake()) this.#suspend();
  }

  /** Or the lease is gone. A read that fails is not repeated: the next look reads again. */
  async #hasWaitEnded(): Promise<boolean> {
    const { job, fence } = this.#owner.lease;
    const page = await this.#leases.readSteps({ id: job.id, fence }).catch(() => undefined);
    return page === null || page?.steps.some(({ name, state }) => state !== "open" && this.#waits.has(name)) === true;
  }

  /** The handler has returned or thrown. */
  handlerEnded(): void {
    this.#ended.abort();
  }

  // ── Storing ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What the step did is done, and must not be done again: while the store is away, it is tried again for as long as the attempt lasts. */
  async #keep(step: NewStep): Promise<void> {
    const { job } = this.#owner.lease;
    for (let failures = 1; ; failures++) {
      const answer = await this.#tryToKeep(step);
      if (answer === "ok") return this.#owner.progressed();
      if (answer === "full") throw this.#doesNotFit(step.name);
      if (answer === "stale" || answer === "cancelled") this.#owner.gone(answer);
      else await this.#pause(failures);
      if (!this.#owner.holdsLease) throw over(job.id);
    }
  }

  async #tryToKeep(step: NewStep): Promise<LeaseAnswer | "full"> {
    const { job, fence } = this.#owner.lease;
    try {
      return await this.#leases.keepSteps({ id: job.id, fence, steps: [step] });
    } catch (error) {
      if (error instanceof MillraceError && !isStoreTrouble(error)) throw error;
      return "locked";
    }
  }

  #pause(failures: number): Promise<void> {
    return sleep(this.#clock, retryPauseMs(failures, 1));
  }

  /**
   * The name was something else: the code was changed, or a signal of this name came before. The store would take what has ended for the end
   * of the wait, and the job would run again and again.
   */
  async #beginAnew(wait: NewStep, stored: StepRecord): Promise<void> {
    // One that is open would keep its time. It becomes what no wait takes for its end, in case that we die here.
    if (stored.state === "open") await this.#keep({ ...wait, kind: "step", state: "done", untilMs: null });
    await this.#keep(wait);
  }

  #doesNotFit(step: string): MillraceError {
    return stepDoesNotFit(step, this.#owner.lease.job.id);
  }

  /** The signal does not fit the wait: it is remembered with its error, and the name is free for another signal. */
  async #refuse(wait: NewStep, stored: StepRecord, error: string): Promise<void> {
    const refused = withRefusal(stored, this.#storeNow(), error);
    const untilMs = stored.until === null ? wait.untilMs : Math.max(0, stored.until - this.#storeNow());
    await this.#keep({ ...wait, untilMs, detail: detail({ ...detailOf(wait), refused }) });
  }

  async #readCall(kind: string | DefinitionOf<unknown>, payload: unknown, options: CallOptions): Promise<Omit<CallRequest, "step">> {
    const type = typeOfKind(kind);
    if (options === null || typeof options !== "object") throw invalid("options", "an object", options);
    const own: JobOptions = typeof kind === "string" ? options : { ...kind.options, ...options };
    const { idempotencyKey, keyTtl: _, ...rest } = own;
    if (idempotencyKey !== undefined) {
      throw new MillraceError("invalid_input", "idempotencyKey cannot be used with a call: the step is its key", {
        field: "idempotencyKey",
      });
    }
    readJobOptions(rest, JOB_DEFAULTS, this.#clock.now());
    const text = encodeJson(payload, "payload", MAX_PAYLOAD_BYTES);
    if (typeof kind !== "string" && kind.input !== undefined) await checkPayload(kind.input, JSON.parse(text));
    return { type, payload: text, options: rest };
  }
}

/** A wait of a suspended attempt. Nobody holds on to it but the handler, which goes with it. */
function never(): Promise<never> {
  return new Promise(() => {});
}
