/**
 * Jobs come in: check the input, make the job, insert it.
 *
 * Single calls are gathered into batches (lib/batcher). Jobs with a key go in batches of their own: such a job may have to wait for
 * another's row, and no job without a key should wait with it.
 */
import { checkPayload } from "../core/check-payload.ts";
import { asInputError, invalid, MillraceError } from "../core/errors.ts";
import { encodeJson, MAX_BATCH_WEIGHT, MAX_PAYLOAD_BYTES } from "../core/json.ts";
import type { NewJob } from "../core/job.ts";
import { type JobSettings, makeJob, readJobOptions, readType } from "../core/job-options.ts";
import { JsonText } from "../core/json-text.ts";
import { partitionOf } from "../core/partition.ts";
import type { StandardSchemaV1 } from "../core/standard-schema.ts";
import { Batcher } from "../lib/batcher.ts";
import type { Clock } from "../lib/clock.ts";
import { slices } from "../lib/slices.ts";
import { isId, tenBitsOf } from "../lib/id.ts";
import { type InsertAnswer, MAX_BATCH, type Store, type TransactionVerbs } from "../store/store.ts";
import { PendingCalls } from "./pending-calls.ts";
import type { Announcer } from "./announcer.ts";
import type { EnqueuedJob, EnqueueOptions, EnqueueResult, JobDefinition, JobInput } from "./client.ts";
import { answerOf, createdEvent } from "./enqueue-answer.ts";
import type { KnownTypes } from "./known-types.ts";
import type { QueueBounds } from "./queue-bounds.ts";
import { asMillraceError } from "./refusals.ts";
import type { Gathering } from "./gathering.ts";

export interface EnqueueParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly announcer: Announcer;
  readonly makeId: (tenBits: number) => string;
  /** What holds for a job of which nothing is said. */
  readonly defaults: JobSettings;
  /** Set in strict mode. */
  readonly knownTypes: KnownTypes | null;
  /** Set when queues have a capacity by default. */
  readonly bounds: QueueBounds | null;
  readonly gathering: Gathering;
  readonly payloadChecks: PayloadChecks;
  readonly checkWebhookUrl: CheckWebhookUrl;
}

/** By type: what a payload must be that code of ours will be given. Each throws `invalid_input`, or rejects with it. */
export type PayloadChecks = ReadonlyMap<string, (payload: unknown) => void | Promise<void>>;

/** What became of a job; a promise for one that waits on alone. */
type Inserted = EnqueuedJob | MillraceError | Promise<EnqueuedJob>;

/** Refuses an address that nothing will ever be sent to, as far as it can be seen. Throws `invalid_input`, or rejects with it. */
export type CheckWebhookUrl = (url: string) => void | Promise<void>;

type JobKind = string | JobDefinition<unknown>;

export class Enqueuer {
  readonly #parts: EnqueueParts;
  readonly #plain: Batcher<NewJob, EnqueuedJob>;
  readonly #keyed: Batcher<NewJob, EnqueuedJob>;
  readonly #pending = new PendingCalls();
  /** The settings of a definition are read once: most jobs have no options of their own. */
  readonly #settings = new WeakMap<JobDefinition<unknown>, JobSettings>();
  /** Payloads that came as a text with its parsed value, so that the answer need not parse it again. Only HTTP brings some. */
  #parsed: WeakMap<NewJob, unknown> | null = null;

  constructor(parts: EnqueueParts) {
    this.#parts = parts;
    this.#plain = this.#batcher();
    this.#keyed = this.#batcher();
  }

  /** One job; resolves when it is committed. */
  enqueue(kind: JobKind, payload: unknown, options: EnqueueOptions | undefined): Promise<EnqueuedJob> {
    try {
      if (options?.tx !== undefined && options.tx !== null) return this.#enqueueWithin(kind, payload, options);
      const job = this.#prepare(kind, payload, options, false);
      return job instanceof Promise ? job.then((ready) => this.#gather(ready)) : this.#gather(job);
    } catch (error) {
      return Promise.reject(asInputError(error));
    }
  }

  /** Many jobs, one by one; in a transaction of the caller's the first error throws. */
  async enqueueMany(items: readonly JobInput[], tx: unknown): Promise<EnqueueResult[]> {
    if (!Array.isArray(items)) throw invalid("jobs", "an array of jobs", items);
    const isWithin = tx !== undefined && tx !== null;
    const prepared = await whenAll(Array.from(items, (item: JobInput) => this.#prepareItem(item, isWithin)));
    if (isWithin)
      return this.#insertWithin(
        prepared.map((job) => jobOrThrow(job)),
        tx,
      );
    const results = prepared.map((job): EnqueueResult | null => (job instanceof MillraceError ? { ok: false, error: job } : null));
    await this.#insertSlices(prepared, results);
    return results as EnqueueResult[];
  }

  /** Resolves when every call that was accepted has its answer. */
  async whenIdle(): Promise<void> {
    await Promise.all([this.#plain.whenIdle(), this.#keyed.whenIdle()]);
    await this.#pending.whenIdle();
  }

  // ── Making a job ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Answers without a promise unless a check has to be waited for: that is the common, hot way. Each step begins when the one before has
   * passed. So none that throws leaves the promise of another behind, whose rejection would end the process; and a queue is given its
   * capacity, which makes the queue, only for a job that nothing else refuses.
   *
   * In a transaction of the caller's a queue is given none: that would be written on our own connection, which waits for what the
   * transaction holds (on SQLite always, for the whole file), while the transaction waits for us.
   */
  #prepare(kind: JobKind, payload: unknown, options: EnqueueOptions | undefined, isWithin: boolean): NewJob | Promise<NewJob> {
    const type = typeof kind === "string" ? readType(kind) : readDefinition(kind);
    const settings = this.#settingsOf(kind, options);
    const checked = this.#check(kind, type, payload, settings);
    if (checked instanceof Promise) return checked.then(() => this.#make(type, payload, settings, options?.id, isWithin));
    return this.#make(type, payload, settings, options?.id, isWithin);
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
    // As the handler will see it: a schema that wants a Date would accept the caller's, and refuse the text that is stored of it.
    const text = encodeJson(payload, "payload", MAX_PAYLOAD_BYTES);
    const stored: unknown = payload instanceof JsonText ? payload.value : JSON.parse(text);
    const checked = schema === undefined ? undefined : checkPayload(schema, stored);
    if (check === undefined) return checked;
    return checked instanceof Promise ? checked.then(() => check(stored)) : check(stored);
  }

  #make(type: string, payload: unknown, settings: JobSettings, givenId: unknown, isWithin: boolean): NewJob | Promise<NewJob> {
    const partition = partitionOf(settings.queue);
    const id = givenId === undefined ? this.#parts.makeId(partition) : readGivenId(givenId, partition);
    const job = makeJob(id, type, payload, settings);
    if (payload instanceof JsonText) (this.#parsed ??= new WeakMap()).set(job, payload.value);
    const { bounds } = this.#parts;
    const bounded = bounds === null || isWithin ? undefined : bounds.ensure(settings.queue);
    return bounded instanceof Promise ? bounded.then(() => job) : job;
  }

  #settingsOf(kind: JobKind, options: EnqueueOptions | undefined): JobSettings {
    const base = typeof kind === "string" ? this.#parts.defaults : this.#settingsOfDefinition(kind);
    if (options === undefined || options === null) return base;
    if (typeof options !== "object" || Array.isArray(options)) throw invalid("options", "an object", options);
    if (!("tx" in options || "id" in options)) return readJobOptions(options, base, this.#parts.clock.now());
    const { tx: _, id: __, ...rest } = options;
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

  #prepareItem(item: JobInput, isWithin: boolean): NewJob | MillraceError | Promise<NewJob | MillraceError> {
    try {
      if (typeof item !== "object" || item === null) throw invalid("job", "an object with a type", item);
      const { type, payload, ...options } = item;
      if ("tx" in options) {
        throw new MillraceError("invalid_input", "tx belongs to the call, not to one of its jobs", { field: "tx" });
      }
      const job = this.#prepare(type, payload, options, isWithin);
      return job instanceof Promise ? job.catch(asInputError) : job;
    } catch (error) {
      return asInputError(error);
    }
  }

  // ── Inserting ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

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
    const answers = await this.#parts.store.insert(jobs);
    this.#announce(jobs, answers);
    return jobs.map((job, index) => {
      const answer = answers[index]!;
      return answer.kind === "locked" ? this.#pending.add(this.#insertAlone(job)) : answerOf(job, answer, this.#parsed?.get(job));
    });
  }

  async #insertAlone(job: NewJob): Promise<EnqueuedJob> {
    const answers = await this.#parts.store.insert([job]);
    this.#announce([job], answers);
    return jobOrThrow(answerOf(job, answers[0]!));
  }

  #announce(jobs: readonly NewJob[], answers: readonly InsertAnswer[]): void {
    const { announcer } = this.#parts;
    if (!announcer.wanted()) return;
    announcer.publish(
      jobs.flatMap((job, index) => {
        const answer = answers[index]!;
        return answer.kind === "created" ? [createdEvent(job, answer)] : [];
      }),
    );
  }

  /** One slice after the other, so that the order of the list is the order in the store. After a failed slice the rest is not tried. */
  async #insertSlices(prepared: readonly (NewJob | MillraceError)[], results: (EnqueueResult | null)[]): Promise<void> {
    const indexes = prepared.flatMap((job, index) => (job instanceof MillraceError ? [] : [index]));
    let failure: MillraceError | null = null;
    // Those that wait for somebody else's transaction make neither the rest of their slice nor the next one wait.
    const late: Promise<void>[] = [];
    for (const slice of slices(indexes, MAX_BATCH, MAX_BATCH_WEIGHT, (index) => weightOf(prepared[index] as NewJob))) {
      const jobs = slice.map((index) => prepared[index] as NewJob);
      const answers: Inserted[] | MillraceError = failure ?? (await this.#insert(jobs).catch(asMillraceError));
      if (answers instanceof MillraceError) failure = answers;
      slice.forEach((index, at) => {
        const answer = answers instanceof MillraceError ? answers : answers[at]!;
        if (answer instanceof Promise) late.push(answer.catch(asMillraceError).then((job) => void (results[index] = resultOf(job))));
        else results[index] = resultOf(answer);
      });
    }
    await Promise.all(late);
  }

  // ── Inside a transaction of the caller's ───────────────────────────────────────────────────────────────────────────────────────

  async #enqueueWithin(kind: JobKind, payload: unknown, options: EnqueueOptions): Promise<EnqueuedJob> {
    const job = await this.#prepare(kind, payload, options, true);
    const verbs = verbsWithin(this.#parts.store, options.tx);
    const [answer] = await verbs.insert([job]);
    return jobOrThrow(answerOf(job, answer!));
  }

  /** No news of these: whether they come to be is decided when the caller commits. */
  async #insertWithin(jobs: readonly NewJob[], tx: unknown): Promise<EnqueueResult[]> {
    const verbs = verbsWithin(this.#parts.store, tx);
    const results: EnqueueResult[] = [];
    for (const slice of slices(jobs, MAX_BATCH, MAX_BATCH_WEIGHT, weightOf)) {
      const answers = await verbs.insert(slice);
      slice.forEach((job, index) => results.push({ ok: true, job: jobOrThrow(answerOf(job, answers[index]!)) }));
    }
    return results;
  }
}

/** The verbs inside the caller's transaction, or `invalid_transaction`. */
export function verbsWithin(store: Store, tx: unknown): TransactionVerbs {
  const verbs = store.within(tx);
  if (verbs === null) throw new MillraceError("invalid_transaction", "tx cannot be used: this engine has no transactions", { field: "tx" });
  return verbs;
}

function readDefinition(kind: unknown): string {
  if ((typeof kind !== "object" && typeof kind !== "function") || kind === null) return readType(kind);
  const { type, options } = kind as { type?: unknown; options?: unknown };
  if (typeof options !== "object" || options === null) throw invalid("type", "a text, or a definition that defineJob made", kind);
  return readType(type);
}

/** In characters: of what a job may have much of. */
function weightOf({ payload, meta, tags }: NewJob): number {
  let weight = payload.length + (meta === null ? 0 : meta.length);
  for (const tag of tags) weight += tag.length;
  return weight;
}

/** Goes on at once where there is nothing to wait for. */
function after(step: void | Promise<void>, goOn: () => void | Promise<void>): void | Promise<void> {
  return step instanceof Promise ? step.then(goOn) : goOn();
}

/** Waits only if there is something to wait for. */
function whenAll<Value>(values: readonly (Value | Promise<Value>)[]): readonly Value[] | Promise<Value[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly Value[]);
}

/** An engine finds a job by the partition in its id: one that carries another would be lost. */
function readGivenId(id: unknown, partition: number): string {
  if (!isId(id) || tenBitsOf(id) !== partition) throw invalid("id", "a UUIDv7 in lower case that carries the partition of its queue", id);
  return id;
}

function resultOf(answer: EnqueuedJob | MillraceError): EnqueueResult {
  return answer instanceof MillraceError ? { ok: false, error: answer } : { ok: true, job: answer };
}

function jobOrThrow<Ready extends object>(job: Ready | MillraceError): Ready {
  if (job instanceof MillraceError) throw job;
  return job;
}
