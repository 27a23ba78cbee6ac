/** Enqueues over HTTP: checks what only this side can check, makes the ids, and sends jobs in batches. */
import type { EnqueuedJob, EnqueueOptions, EnqueueResult, JobDefinition, JobInput } from "../../client/client.ts";
import { COALESCE_FIELDS } from "../../core/coalesce.ts";
import { checkPayload } from "../../core/check-payload.ts";
import { enqueueResultOf } from "../../core/enqueue-result.ts";
import { asInputError, invalid, MillraceError } from "../../core/errors.ts";
import { type GivenMember, refuseMemberOptions } from "../../core/flow-graph.ts";
import { typeOfKind } from "../../core/job-definition.ts";
import type { JobOptions } from "../../core/job-options.ts";
import { encodeJson, MAX_BATCH_WEIGHT, MAX_PAYLOAD_BYTES, utf8Length } from "../../core/json.ts";
import { mergeOptions } from "../../core/merge-options.ts";
import { onlyDefaults } from "./only-defaults.ts";
import { MAX_BATCH } from "../../core/work-limits.ts";
import { partitionOf } from "../../core/partition.ts";
import { hasTransaction } from "../../core/query-transaction.ts";
import { DEFAULT_QUEUE } from "../../core/queue.ts";
import { isName, readFields } from "../../core/read-fields.ts";
import { Batcher, WaitingLimit } from "../../lib/batcher.ts";
import type { Clock } from "../../lib/clock.ts";
import { PendingCalls } from "../../lib/pending-calls.ts";
import { slices } from "../../lib/slices.ts";
import type { AnswerFrom } from "../contract.ts";
import { fromJobWire, fromPrunedWire } from "../wire/job.ts";
import { idMaker } from "./ids.ts";
import { errorOf } from "./problems.ts";
import type { Transport } from "./transport.ts";
import { wireText } from "./wire-text.ts";

type BatchResult = AnswerFrom<"POST /api/v1/jobs/batch">["results"][number];
type JobKind = string | JobDefinition<unknown>;

/** A job that is ready to be sent. */
interface EncodedJob {
  readonly text: string;
  readonly payload: string;
  readonly idempotencyKey: string | null;
}

/** A job with the options of all layers. */
interface DescribedJob {
  readonly given: JobOptions & { readonly type: string; readonly id?: string };
  /** JSON. */
  readonly payload: string;
}

const MAX_WAITING = 10_000;

export interface RemoteEnqueuerOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Used where neither the call nor the definition sets an option. */
  readonly defaults: JobOptions;
}

export class RemoteEnqueuer {
  readonly #transport: Transport;
  readonly #defaults: JobOptions;
  readonly #createId: (tenBits: number) => string;
  readonly #batcher: Batcher<EncodedJob, EnqueuedJob>;
  readonly #calls = new PendingCalls();

  constructor({ transport, clock, defaults }: RemoteEnqueuerOptions) {
    this.#transport = transport;
    this.#defaults = defaults;
    this.#createId = idMaker(() => clock.now());
    this.#batcher = new Batcher<EncodedJob, EnqueuedJob>({
      run: (jobs) => this.#send(jobs),
      inFlight: 2,
      maxItems: MAX_BATCH,
      maxWeight: MAX_BATCH_WEIGHT,
      weigh: weightOf,
      waitingLimit: new WaitingLimit(MAX_WAITING, () => {
        return new MillraceError("store_unavailable", "too many calls wait for the server; try again later", { retryAfterMs: 1000 });
      }),
    });
  }

  enqueue(kind: JobKind, payload: unknown, options: EnqueueOptions | undefined): Promise<EnqueuedJob> {
    if (options?.coalesce !== undefined && options.coalesce !== null) return this.#calls.add(this.#coalesce(kind, payload, options));
    return this.#calls.add(this.#prepare(kind, payload, options).then((job) => this.#batcher.add(job)));
  }

  enqueueMany(items: readonly JobInput[], tx: unknown): Promise<EnqueueResult[]> {
    return this.#calls.add(this.#enqueueMany(items, tx));
  }

  /** Sends one slice after the other, so that the store has the order of the list. After a failed slice, the rest is not tried. */
  async #enqueueMany(items: readonly JobInput[], tx: unknown): Promise<EnqueueResult[]> {
    if (!Array.isArray(items)) throw invalid("jobs", "an array of jobs", items);
    refuseTransaction(tx);
    const jobs = await Promise.all(Array.from(items, (item: JobInput) => this.#prepareItem(item).catch(asInputError)));
    const results: EnqueueResult[] = [];
    let failure: MillraceError | null = null;
    for (const slice of slices(jobs, MAX_BATCH, MAX_BATCH_WEIGHT, weightOf)) {
      const sound = slice.filter((job): job is EncodedJob => !(job instanceof MillraceError));
      const answers: (EnqueuedJob | MillraceError)[] | MillraceError = failure ?? (await this.#send(sound).catch(asInputError));
      if (answers instanceof MillraceError) failure = answers;
      const next = (Array.isArray(answers) ? answers : sound.map(() => answers)).values();
      for (const job of slice) results.push(enqueueResultOf(job instanceof MillraceError ? job : next.next().value!));
    }
    return results;
  }

  /** The JSON of a member of a flow. It has no id and no key: the server makes its id from that of the flow. */
  async memberText({ type: kind, payload, name, after, onFailure, ...own }: GivenMember): Promise<string> {
    refuseMemberOptions(own);
    const { given, payload: text } = await this.#describe(kind as JobKind, payload, own);
    const { idempotencyKey: _, keyTtl: __, ...job } = given;
    // Many names may be longer than any other field may be.
    const isList = Array.isArray(after) && after.every((one) => typeof one === "string");
    const fields = { name, ...(isList ? {} : { after }), onFailure, ...job };
    return wireText(fields, { ...(isList ? { after: JSON.stringify(after) } : {}), payload: text });
  }

  /** Resolves when every call that was accepted has its answer. */
  whenIdle(): Promise<void> {
    return this.#calls.whenIdle();
  }

  async #prepareItem(item: JobInput): Promise<EncodedJob> {
    if (typeof item !== "object" || item === null) throw invalid("job", "an object with a type", item);
    const { type, payload, ...options } = item;
    if ("tx" in options) throw new MillraceError("invalid_input", "tx belongs to the call, not to one of its jobs", { field: "tx" });
    return this.#prepare(type, payload, options);
  }

  async #prepare(kind: JobKind, payload: unknown, options: EnqueueOptions | undefined): Promise<EncodedJob> {
    try {
      return await this.#pack(kind, payload, options);
    } catch (error) {
      throw asInputError(error);
    }
  }

  async #pack(kind: JobKind, payload: unknown, options: EnqueueOptions | undefined): Promise<EncodedJob> {
    const { given, payload: text } = await this.#describe(kind, payload, options);
    const { queue = DEFAULT_QUEUE, idempotencyKey } = given;
    // The server refuses an invalid queue.
    const partition = isName(queue) ? partitionOf(queue) : 0;
    const job = { ...given, queue, id: given.id ?? this.#createId(partition) };
    return { text: wireText(job, { payload: text }), payload: text, idempotencyKey: idempotencyKey ?? null };
  }

  /** All fields of a job, and the JSON of its payload. */
  async #describe(kind: JobKind, payload: unknown, options: EnqueueOptions | undefined): Promise<DescribedJob> {
    const { type, schema, defaults } = readKind(kind);
    if (options !== undefined && options !== null && (typeof options !== "object" || Array.isArray(options))) {
      throw invalid("options", "an object", options);
    }
    const { tx, ...own } = options ?? {};
    refuseTransaction(tx);
    const text = encodeJson(payload, "payload", MAX_PAYLOAD_BYTES);
    // Checks the payload as the handler will see it.
    if (schema !== undefined) await checkPayload(schema, JSON.parse(text));
    const unset = onlyDefaults(this.#defaults, defaults, own);
    return { given: { ...mergeOptions(this.#defaults, defaults, own), ...unset, type }, payload: text };
  }

  /** By itself, because the answer may be another job than the one that was sent. Sent again, it is merged into itself. */
  async #coalesce(kind: JobKind, payload: unknown, options: EnqueueOptions): Promise<EnqueuedJob> {
    const { coalesce, ...rest } = options;
    const { quiet, longest, every, ...wanted } = readFields(coalesce, "coalesce", COALESCE_FIELDS, "coalesce.");
    const { text } = await this.#prepare(kind, payload, rest);
    const { body, status } = await this.#transport.ask("POST /api/v1/jobs", {
      body: `${text.slice(0, -1)},"coalesce":${wireText({ ...wanted, quiet, longest, every })}}`,
      repeatable: true,
    });
    if ("pruned" in body) return fromPrunedWire(body, null);
    return { ...fromJobWire(body), created: status === 201, pruned: false, outcome: body.outcome };
  }

  /** The jobs have their ids, so a batch may be sent again. */
  async #send(jobs: readonly EncodedJob[]): Promise<(EnqueuedJob | MillraceError)[]> {
    if (jobs.length === 0) return [];
    const { body } = await this.#transport.ask("POST /api/v1/jobs/batch", {
      body: `{"jobs":[${jobs.map(({ text }) => text).join(",")}]}`,
      headers: { Prefer: "return=minimal" },
      repeatable: true,
    });
    return jobs.map((job, index) => answerOf(job, body.results[index]!));
  }
}

/** In bytes; a refused job is not sent. */
function weightOf(job: EncodedJob | MillraceError): number {
  return job instanceof MillraceError ? 0 : utf8Length(job.text);
}

function answerOf({ payload, idempotencyKey }: EncodedJob, result: BatchResult): EnqueuedJob | MillraceError {
  if ("error" in result) return errorOf(result.error);
  const { job } = result;
  if ("pruned" in job) return fromPrunedWire(job, idempotencyKey);
  return { ...fromJobWire(job), payload: JSON.parse(payload) as unknown, created: result.status === 201, pruned: false };
}

function readKind(kind: JobKind): { type: string; schema: JobDefinition<unknown>["input"]; defaults: JobOptions } {
  const type = typeOfKind(kind);
  return typeof kind === "string" ? { type, schema: undefined, defaults: {} } : { type, schema: kind.input, defaults: kind.options };
}

export function refuseTransaction(tx: unknown): void {
  if (hasTransaction(tx)) throw noTransaction();
}

/** A transaction belongs to a connection to the store, and this client has none. */
export function noTransaction(): MillraceError {
  return new MillraceError("invalid_transaction", "a client of a server cannot use a transaction: connect to the store itself for that", {
    field: "tx",
  });
}
