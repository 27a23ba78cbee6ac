/**
 * Enqueue: check the input, make the job, insert it.
 *
 * Single calls are gathered into batches (lib/batcher). Jobs with a key have batches of their own: they may have to wait for a row of another
 * job, and jobs without a key should not wait with them.
 */
import { type AttemptOption, readUnset } from "../core/attempt-options.ts";
import { checkPayload } from "../core/check-payload.ts";
import { asDeclared, type Declared, NOTHING_DECLARED } from "../core/declared.ts";
import { type Coalesce, readCoalesce } from "../core/coalesce.ts";
import { createdEvent } from "../core/event.ts";
import { enqueueResultOf } from "../core/enqueue-result.ts";
import { asInputError, invalid, MillraceError } from "../core/errors.ts";
import { encodeJson, MAX_BATCH_WEIGHT, MAX_PAYLOAD_BYTES } from "../core/json.ts";
import { type NewJob, toJob } from "../core/job.ts";
import { typeOfKind } from "../core/job-definition.ts";
import { type JobSettings, createJob, readJobOptions } from "../core/job-options.ts";
import { JsonText, withTexts } from "../core/json-text.ts";
import { partitionOf } from "../core/partition.ts";
import { hasTransaction } from "../core/query-transaction.ts";
import type { StandardSchemaV1 } from "../core/standard-schema.ts";
import { Batcher } from "../lib/batcher.ts";
import { slices } from "../lib/slices.ts";
import { isId, tenBitsOf } from "../lib/id.ts";
import { type InsertAnswer, MAX_BATCH, type Store, type TransactionVerbs } from "../store/store.ts";
import { PendingCalls } from "../lib/pending-calls.ts";
import { coalesce } from "./coalesce.ts";
import { insertWithDeadlines, insertWithDeadlinesWithin } from "../flows/deadlines.ts";
import type { ClientParts } from "./announcer.ts";
import type { EnqueuedJob, EnqueueOptions, EnqueueResult, JobDefinition, JobInput } from "./client.ts";
import { answerOf } from "./enqueue-answer.ts";
import type { DeclaredSettings } from "./declared-settings.ts";
import type { KnownTypes } from "./known-types.ts";
import type { QueueBounds } from "./queue-bounds.ts";
import { asMillraceError } from "./refusals.ts";
import type { Gathering } from "./gathering.ts";

export interface EnqueueParts extends ClientParts {
  readonly createId: (tenBits: number) => string;
  readonly defaults: JobSettings;
  /** Set with `strictTypes`. */
  readonly knownTypes: KnownTypes | null;
  /** Set with `queueCapacity`. */
  readonly bounds: QueueBounds | null;
  readonly declared: DeclaredSettings;
  readonly gathering: Gathering;
  readonly payloadChecks: PayloadChecks;
  readonly checkWebhookUrl: CheckWebhookUrl;
}

/** Payload checks of built-in types, by type. Each throws `invalid_input` or rejects with it. */
export type PayloadChecks = ReadonlyMap<string, (payload: unknown) => void | Promise<void>>;

/** A job, or why it is refused. */
type Prepared = NewJob | MillraceError | Promise<NewJob | MillraceError>;

/** The result for a job; a promise if it waits alone. */
type Inserted = EnqueuedJob | MillraceError | Promise<EnqueuedJob>;

/** Refuses a URL if it is clear that nothing will ever be sent there. Throws `invalid_input` or rejects with it. */
export type CheckWebhookUrl = (url: string) => void | Promise<void>;

type JobKind = string | JobDefinition<unknown>;

/** Jobs of one call of the store, and the places of their items. */
interface Slice {
  readonly jobs: readonly NewJob[];
  readonly places: readonly number[];
}

export class Enqueuer {
  readonly #parts: EnqueueParts;
  readonly #plain: Batcher<NewJob, EnqueuedJob>;
  readonly #keyed: Batcher<NewJob, EnqueuedJob>;
  readonly #pending = new PendingCalls();
  /** Jobs that wait for a check or for what the store knows of their queue. */
  readonly #preparing = new PendingCalls();
  /** The settings of definitions, read once: most jobs have no options of their own. */
  readonly #settings = new WeakMap<JobDefinition<unknown>, JobSettings>();
  /** The values of payloads that came as JsonText, so that the answer need not parse them again. Only HTTP and the command line bring some. */
  #parsed: WeakMap<NewJob, unknown> | null = null;

  constructor(parts: EnqueueParts) {
    this.#parts = parts;
    this.#plain = this.#batcher();
    this.#keyed = this.#batcher();
  }

  /** Enqueues one job; resolves when it is committed. */
  enqueue(kind: JobKind, payload: unknown, options: EnqueueOptions | undefined): Promise<EnqueuedJob> {
    try {
      if (options?.coalesce !== undefined && options.coalesce !== null) return this.#pending.add(this.#coalesce(kind, payload, options));
      if (hasTransaction(options?.tx)) return this.#enqueueWithin(kind, payload, options!);
      const job = this.#prepare(kind, payload, options, false);
      return job instanceof Promise ? this.#preparing.add(job).then((ready) => this.#gather(ready)) : this.#gather(job);
    } catch (error) {
      return Promise.reject(asInputError(error));
    }
  }

  /** Makes a job without inserting it, with an id that follows from its partition. Rejects if it is refused. */
  async create(
    kind: JobKind,
    payload: unknown,
    options: EnqueueOptions,
    idOf: (partition: number) => string,
    isWithin = false,
  ): Promise<NewJob> {
    typeOfKind(kind);
    const settings = this.#settingsOf(kind, options);
    const id = idOf(partitionOf(settings.queue));
    try {
      return await this.#prepare(kind, payload, { ...options, id }, isWithin);
    } catch (error) {
      throw asInputError(error);
    }
  }

  /** Enqueues many jobs. In the caller's transaction the first error throws. */
  async enqueueMany(items: readonly JobInput[], tx: unknown): Promise<EnqueueResult[]> {
    if (!Array.isArray(items)) throw invalid("jobs", "an array of jobs", items);
    if (hasTransaction(tx)) {
      if (items.some(hasCoalesce)) throw notBeside("tx");
      const prepared = await whenAll(Array.from(items, (item: JobInput) => this.#prepareItem(item, true)));
      return this.#insertWithin(
        prepared.map((job) => jobOrThrow(job)),
        tx,
      );
    }
    const all = Array.from(items);
    return all.some(hasCoalesce) ? this.#enqueueMixed(all) : this.#insertInParts(all);
  }

  /** Jobs with a coalescing key take their own way, one after the other, once the others are stored. */
  async #enqueueMixed(items: readonly JobInput[]): Promise<EnqueueResult[]> {
    const plain = (await this.#insertInParts(items.filter((item) => !hasCoalesce(item)))).values();
    const results = items.map((item) => (hasCoalesce(item) ? null : plain.next().value!));
    for (const [index, item] of items.entries()) {
      if (!hasCoalesce(item)) continue;
      const { type, payload, ...options } = item;
      results[index] = enqueueResultOf(await this.#pending.add(this.#coalesce(type, payload, options)).catch(asMillraceError));
    }
    return results as EnqueueResult[];
  }

  /** Resolves when every accepted call has its answer. */
  async whenIdle(): Promise<void> {
    await this.#preparing.whenIdle();
    await Promise.all([this.#plain.whenIdle(), this.#keyed.whenIdle()]);
    await this.#pending.whenIdle();
  }

  // ── Make a job ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Returns no promise unless a check needs one: that is the usual, hot path. Each step starts after the one before it passed. So a step that
   * throws leaves no promise behind whose rejection would end the process, and a queue gets its capacity, which creates the queue, only for a
   * job that nothing else refuses.
   *
   * Within the caller's transaction a queue gets no capacity: our own connection would write it and wait for what the transaction holds (on
   * SQLite always, for the whole file), while the transaction waits for us.
   */
  #prepare(kind: JobKind, payload: unknown, options: EnqueueOptions | undefined, isWithin: boolean): NewJob | Promise<NewJob> {
    const type = typeOfKind(kind);
    const settings = this.#settingsOf(kind, options);
    const checked = this.#check(kind, type, payload, settings);
    if (checked instanceof Promise) return checked.then(() => this.#make(kind, type, payload, settings, options, isWithin));
    return this.#make(kind, type, payload, settings, options, isWithin);
  }

  #check(kind: JobKind, type: string, payload: unknown, { webhookUrl }: JobSettings): void | Promise<void> {
    const { knownTypes, payloadChecks, checkWebhookUrl } = this.#parts;
    if (typeof kind === "string" && knownTypes === null && webhookUrl === null && !payloadChecks.has(type)) return;
    return after(this.#checkPayload(type, typeof kind === "string" ? undefined : kind.input, payload), () =>
      after(this.#checkType(kind, type), () => (webhookUrl === null ? undefined : checkWebhookUrl(webhookUrl))),
    );
  }

  #checkPayload(type: string, schema: StandardSchemaV1 | undefined, payload: unknown): void | Promise<void> {
    const check = this.#parts.payloadChecks.get(type);
    if (schema === undefined && check === undefined) return;
    // Checked as stored, as the handler will see it: a schema for a Date would accept the caller's Date, and refuse the stored string.
    const text = encodeJson(payload, "payload", MAX_PAYLOAD_BYTES);
    const stored: unknown = payload instanceof JsonText ? payload.value : JSON.parse(text);
    const checked = schema === undefined ? undefined : checkPayload(schema, stored);
    if (check === undefined) return checked;
    return checked instanceof Promise ? checked.then(() => check(stored)) : check(stored);
  }

  #make(
    kind: JobKind,
    type: string,
    payload: unknown,
    settings: JobSettings,
    options: EnqueueOptions | undefined,
    isWithin: boolean,
  ): NewJob | Promise<NewJob> {
    const partition = partitionOf(settings.queue);
    const givenId: unknown = options?.id;
    const id = givenId === undefined ? this.#parts.createId(partition) : readGivenId(givenId, partition);
    const job = createJob(id, type, payload, settings);
    const { bounds, declared } = this.#parts;
    const known = declared.of(settings.queue);
    const bounded = bounds === null || isWithin ? undefined : bounds.ensure(settings.queue);
    if (!(known instanceof Promise || bounded instanceof Promise)) return this.#finish(job, kind, payload, options, known);
    return Promise.all([known, bounded]).then(([read]) => this.#finish(job, kind, payload, options, read));
  }

  #finish(plain: NewJob, kind: JobKind, payload: unknown, options: EnqueueOptions | undefined, known: Declared): NewJob {
    const job = known === NOTHING_DECLARED ? plain : asDeclared(plain, known, (name) => isOpen(kind, options, name));
    if (payload instanceof JsonText) (this.#parsed ??= new WeakMap()).set(job, payload.value);
    return job;
  }

  #settingsOf(kind: JobKind, options: EnqueueOptions | undefined): JobSettings {
    const base = typeof kind === "string" ? this.#parts.defaults : this.#settingsOfDefinition(kind);
    if (options === undefined || options === null) return base;
    if (typeof options !== "object" || Array.isArray(options)) throw invalid("options", "an object", options);
    if (!("tx" in options || "id" in options || "unset" in options || "coalesce" in options))
      return readJobOptions(options, base, this.#parts.clock.now());
    const { tx: _, id: __, coalesce: ___, unset, ...rest } = options;
    if (unset !== undefined) readUnset(unset);
    return readJobOptions(rest, base, this.#parts.clock.now());
  }

  #settingsOfDefinition(definition: JobDefinition<unknown>): JobSettings {
    let settings = this.#settings.get(definition);
    if (settings === undefined) {
      settings = readJobOptions(definition.options, this.#parts.defaults, this.#parts.clock.now());
      this.#settings.set(definition, settings);
    }
    return settings;
  }

  #checkType(kind: JobKind, type: string): undefined | Promise<void> {
    const { knownTypes } = this.#parts;
    if (knownTypes === null) return undefined;
    if (typeof kind !== "string") knownTypes.add(type);
    return knownTypes.check(type);
  }

  #prepareItem(item: JobInput, isWithin: boolean): Prepared {
    try {
      if (typeof item !== "object" || item === null) throw invalid("job", "an object with a type", item);
      if (hasNoOptions(item)) return settled(this.#prepare(item.type, item.payload, undefined, isWithin));
      const { type, payload, ...options } = item;
      if ("tx" in options) throw new MillraceError("invalid_input", "tx belongs to the call, not to one of its jobs", { field: "tx" });
      return settled(this.#prepare(type, payload, options, isWithin));
    } catch (error) {
      return asInputError(error);
    }
  }

  // ── Insert ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #batcher(): Batcher<NewJob, EnqueuedJob> {
    return new Batcher<NewJob, EnqueuedJob>({
      ...this.#parts.gathering,
      run: (jobs) => this.#insert(jobs),
      weigh: weightOf,
      maxWeight: MAX_BATCH_WEIGHT,
    });
  }

  #gather(job: NewJob): Promise<EnqueuedJob> {
    return (job.idempotencyKey === null ? this.#plain : this.#keyed).add(job);
  }

  async #insert(jobs: readonly NewJob[]): Promise<Inserted[]> {
    const answers = await insertWithDeadlines(this.#parts.store, jobs);
    this.#announce(jobs, answers);
    return jobs.map((job, index) => this.#inserted(job, answers[index]!));
  }

  /** Makes the result of a store's answer. */
  #inserted(job: NewJob, answer: InsertAnswer): Inserted {
    return answer.kind === "locked" ? this.#pending.add(this.#insertAlone(job)) : answerOf(job, answer, this.#parsed?.get(job));
  }

  async #insertAlone(job: NewJob): Promise<EnqueuedJob> {
    const answers = await insertWithDeadlines(this.#parts.store, [job]);
    this.#announce([job], answers);
    return jobOrThrow(answerOf(job, answers[0]!));
  }

  /** Tells of new jobs, of all or of those from one to another. */
  #announce(jobs: readonly NewJob[], answers: readonly InsertAnswer[], first: number = 0, end: number = jobs.length): void {
    const { announcer } = this.#parts;
    if (!announcer.wanted()) return;
    announcer.publish(
      jobs.slice(first, end).flatMap((job, index) => {
        const answer = answers[first + index]!;
        return answer.kind === "created" ? [createdEvent(job, answer.createdAt)] : [];
      }),
    );
  }

  /**
   * One slice after the other, so that the store has the order of the list. After a failed slice, the rest is not tried. While the store works
   * on a slice, the results of the one before are made, and the jobs of the next one.
   */
  async #insertInParts(items: readonly JobInput[]): Promise<EnqueueResult[]> {
    const results: EnqueueResult[] = Array.from({ length: items.length });
    // Jobs that wait for another transaction delay neither the rest of their slice nor the next slice.
    const late: Promise<void>[] = [];
    let failure: MillraceError | null = null;
    let toResults: (() => void)[] = [];
    let next: Prepared[] = [];
    for (const step of this.#toPrepare(items, 0, next)) step();
    for (let from = 0; from < items.length; from += MAX_BATCH) {
      const prepared = whenAll(next);
      const mine = slicesOf(prepared instanceof Promise ? await prepared : prepared, from, results);
      next = [];
      let toPrepare = this.#toPrepare(items, from + MAX_BATCH, next);
      for (const slice of mine) {
        const sent: MillraceError | Promise<InsertAnswer[] | MillraceError> =
          failure ?? insertWithDeadlines(this.#parts.store, slice.jobs).catch(asMillraceError);
        await inTurns([...toResults, ...toPrepare]);
        toPrepare = [];
        const answers: readonly InsertAnswer[] | MillraceError = await sent;
        if (answers instanceof MillraceError) failure = answers;
        toResults = stepsOf(slice.jobs.length, (first, end) => this.#makeResults(slice, answers, first, end, results, late));
      }
      for (const step of toPrepare) step();
    }
    for (const step of toResults) step();
    await Promise.all(late);
    return results;
  }

  /** Steps that make the jobs of up to MAX_BATCH items. */
  #toPrepare(items: readonly JobInput[], from: number, into: Prepared[]): (() => void)[] {
    return stepsOf(Math.min(MAX_BATCH, items.length - from), (first, end) => {
      for (let at = first; at < end; at++) into.push(this.#prepareItem(items[from + at]!, false));
    });
  }

  /** Makes the results of some jobs of a slice. */
  #makeResults(
    { jobs, places }: Slice,
    answers: readonly InsertAnswer[] | MillraceError,
    first: number,
    end: number,
    results: EnqueueResult[],
    late: Promise<void>[],
  ): void {
    if (answers instanceof MillraceError) {
      for (let at = first; at < end; at++) results[places[at]!] = enqueueResultOf<never>(answers);
      return;
    }
    this.#announce(jobs, answers, first, end);
    for (let at = first; at < end; at++) {
      const place = places[at]!;
      const result = this.#inserted(jobs[at]!, answers[at]!);
      if (result instanceof Promise) late.push(result.catch(asMillraceError).then((job) => void (results[place] = enqueueResultOf(job))));
      else results[place] = enqueueResultOf(result);
    }
  }

  // ── With a coalescing key ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async #coalesce(kind: JobKind, payload: unknown, options: EnqueueOptions): Promise<EnqueuedJob> {
    try {
      const wanted = readCoalesce(options.coalesce);
      refuseBeside(options, wanted);
      const { outcome, job } = await coalesce(this.#parts, await this.#prepare(kind, payload, options, false), wanted);
      return withTexts({ ...toJob(job), created: outcome === "created", pruned: false, outcome }, job.payload, job.result);
    } catch (error) {
      throw asInputError(error);
    }
  }

  // ── Within the caller's transaction ────────────────────────────────────────────────────────────────────────────────────────────

  async #enqueueWithin(kind: JobKind, payload: unknown, options: EnqueueOptions): Promise<EnqueuedJob> {
    const job = await this.#prepare(kind, payload, options, true);
    const verbs = verbsWithin(this.#parts.store, options.tx);
    const [answer] = await insertWithDeadlinesWithin(verbs, [job]);
    return jobOrThrow(answerOf(job, answer!));
  }

  /** No events for these: the jobs exist only if the caller commits. */
  async #insertWithin(jobs: readonly NewJob[], tx: unknown): Promise<EnqueueResult[]> {
    const verbs = verbsWithin(this.#parts.store, tx);
    const results: EnqueueResult[] = [];
    for (const slice of slices(jobs, MAX_BATCH, MAX_BATCH_WEIGHT, weightOf)) {
      const answers = await insertWithDeadlinesWithin(verbs, slice);
      slice.forEach((job, index) => results.push(enqueueResultOf(jobOrThrow(answerOf(job, answers[index]!)))));
    }
    return results;
  }
}

function hasCoalesce(item: JobInput): boolean {
  return typeof item === "object" && item !== null && item.coalesce !== undefined && item.coalesce !== null;
}

/** What cannot be said beside a coalescing key. */
function refuseBeside(options: EnqueueOptions, { quietMs, everyMs }: Coalesce): void {
  const beside = (["idempotencyKey", "tx"] as const).find((name) => options[name] !== undefined && options[name] !== null);
  const times = (["delay", "runAt"] as const).find(
    (name) => (quietMs ?? everyMs) !== null && options[name] !== undefined && options[name] !== null,
  );
  if (beside !== undefined) throw notBeside(beside);
  if (times !== undefined) throw notBeside(times, "quiet and every say when the job is due");
}

function notBeside(field: string, why = "the key tells which jobs are one"): MillraceError {
  return new MillraceError("invalid_input", `${field} and coalesce cannot be combined: ${why}`, { field });
}

/** The verbs within the caller's transaction. Throws `invalid_transaction` if the engine has none. */
export function verbsWithin(store: Store, tx: unknown): TransactionVerbs {
  const verbs = store.within(tx);
  if (verbs === null)
    throw new MillraceError("invalid_transaction", "tx is not supported: this engine has no transactions", { field: "tx" });
  return verbs;
}

/** Most items have only these two. To copy the others costs more than the rest of the preparation. */
function hasNoOptions(item: JobInput): boolean {
  for (const name in item) if (name !== "type" && name !== "payload") return false;
  return true;
}

/** The job, or why it is refused. */
function settled(job: NewJob | Promise<NewJob>): NewJob | Promise<NewJob | MillraceError> {
  return job instanceof Promise ? job.catch(asInputError) : job;
}

/** Whether neither the call nor the definition sets an option. */
function isOpen(kind: JobKind, options: EnqueueOptions | undefined, name: AttemptOption): boolean {
  const isUnset = options?.[name] === undefined || options.unset?.includes(name) === true;
  return isUnset && (typeof kind === "string" || kind.options[name] === undefined);
}

/** The size of what may be large in a job, in characters. */
function weightOf({ payload, meta, tags }: NewJob): number {
  let weight = payload.length + (meta === null ? 0 : meta.length);
  for (const tag of tags) weight += tag.length;
  return weight;
}

/** The jobs that were made, in slices that the store takes. Says of the others why they are refused. */
function slicesOf(made: readonly (NewJob | MillraceError)[], from: number, results: EnqueueResult[]): Slice[] {
  const jobs: NewJob[] = [];
  const places: number[] = [];
  made.forEach((job, at) => {
    if (job instanceof MillraceError) results[from + at] = enqueueResultOf<never>(job);
    else {
      jobs.push(job);
      places.push(from + at);
    }
  });
  let taken = 0;
  return Array.from(slices(jobs, MAX_BATCH, MAX_BATCH_WEIGHT, weightOf), (some) => ({
    jobs: some,
    places: places.slice(taken, (taken += some.length)),
  }));
}

/** How many jobs are made, or answered, before what came from the store meanwhile is looked at. */
const STEP = 250;

/** Work on `count` items, in steps. */
function stepsOf(count: number, work: (first: number, end: number) => void): (() => void)[] {
  const steps: (() => void)[] = [];
  for (let first = 0; first < count; first += STEP) steps.push(() => work(first, Math.min(first + STEP, count)));
  return steps;
}

/** Takes steps while the store works. What is ready is sent before each of them, so the store never waits for more than one. */
async function inTurns(steps: readonly (() => void)[]): Promise<void> {
  for (const step of steps) {
    await nextTurn();
    step();
  }
}

/** Lets all that is ready to be sent be sent. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Continues at once if there is nothing to wait for. */
function after(step: void | Promise<void>, goOn: () => void | Promise<void>): void | Promise<void> {
  return step instanceof Promise ? step.then(goOn) : goOn();
}

/** Waits only if a value is a promise. */
function whenAll<Value>(values: readonly (Value | Promise<Value>)[]): readonly Value[] | Promise<Value[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly Value[]);
}

/** Engines find a job by the partition in its id: with a wrong one, the job would never be found. */
export function readGivenId(id: unknown, partition: number): string {
  if (!isId(id) || tenBitsOf(id) !== partition) throw invalid("id", "a UUIDv7 in lower case with the partition of its queue", id);
  return id;
}

function jobOrThrow<Ready extends object>(job: Ready | MillraceError): Ready {
  if (job instanceof MillraceError) throw job;
  return job;
}
