/**
 * ENQUEUE THROUGH MIDDLEWARE. Each call is one list of jobs, also that of a single job, so that a batch stays one call of the store.
 *
 *   the caller's jobs ─→ the schemas of their definitions ─→ the first middleware ─→ … ─→ the last ─→ the client
 *
 * So a schema checks what the caller gave, and the handler's what the handler gets; what middleware makes of a payload in between, such as an
 * encrypted text, is stored as it is.
 */
import { ATTEMPT_OPTION_NAMES } from "../core/attempt-options.ts";
import { checkPayload } from "../core/check-payload.ts";
import { enqueueResultOf } from "../core/enqueue-result.ts";
import { asInputError, invalid, MillraceError } from "../core/errors.ts";
import { isDefinition } from "../core/job-definition.ts";
import type { JobOptions } from "../core/job-options.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "../core/json.ts";
import { JsonText } from "../core/json-text.ts";
import { mergeOptions } from "../core/merge-options.ts";
import type {
  EnqueuedJob,
  EnqueueItem,
  EnqueueMiddleware,
  EnqueueOptions,
  EnqueueResult,
  JobDefinition,
  JobInput,
  PlainClient,
} from "./client.ts";

type Kind = string | JobDefinition<unknown>;
type Enqueue = (kind: Kind, payload: unknown, options: EnqueueOptions | undefined) => Promise<EnqueuedJob>;
type Last = (items: readonly EnqueueItem[]) => Promise<EnqueueResult[]>;

export class EnqueueChain {
  readonly #enqueue: Enqueue;
  readonly #enqueueMany: PlainClient["enqueueMany"];
  readonly #defaults: JobOptions;
  readonly #middleware: EnqueueMiddleware[] = [];

  /** `defaults` of the client that a queue may set, too, are left out: the client fills them in where the queue does not. */
  constructor(client: Pick<PlainClient, "enqueue" | "enqueueMany">, defaults: JobOptions = {}) {
    this.#enqueue = client.enqueue.bind(client);
    this.#enqueueMany = client.enqueueMany.bind(client);
    const own = Object.entries(defaults).filter(([name]) => !(ATTEMPT_OPTION_NAMES as readonly string[]).includes(name));
    this.#defaults = Object.fromEntries(own);
  }

  add(middleware: EnqueueMiddleware): void {
    this.#middleware.push(middleware);
  }

  /** What cannot be read is refused by the client itself, and no middleware sees it. */
  async enqueue(kind: Kind, payload?: unknown, options?: EnqueueOptions): Promise<EnqueuedJob> {
    if (!isKind(kind) || !isOptions(options)) return this.#enqueue(kind, payload, options);
    const { tx, ...own } = options ?? {};
    const call = new Call(this.#defaults);
    const item = await call.itemOf(kind, payload, own).catch(refuse);
    const results = await this.#run([item], async ([only, ...more]) => {
      if (only === undefined || more.length > 0) throw invalid("jobs", "the one job of this call, for next", 1 + more.length);
      const { type, payload: given, ...rest } = call.inputOf(only);
      return [await this.#enqueue(type, given, { ...rest, ...(tx === undefined ? {} : { tx }) }).then(enqueueResultOf, asRefused)];
    });
    const [result] = results;
    if (!result!.ok) throw result!.error;
    return result!.job;
  }

  async enqueueMany(inputs: readonly JobInput[], options?: { readonly tx?: unknown }): Promise<EnqueueResult[]> {
    if (!Array.isArray(inputs) || !isOptions(options)) return this.#enqueueMany(inputs, options);
    const call = new Call(this.#defaults);
    const read = await Promise.all(Array.from(inputs, (input: JobInput) => this.#read(call, input)));
    const refused = read.find((item) => item instanceof MillraceError);
    if (refused !== undefined && options?.tx !== undefined) throw refused;
    const items = read.filter((item): item is EnqueueItem => !(item instanceof MillraceError));
    const last: Last = (given) =>
      this.#enqueueMany(
        given.map((item) => call.inputOf(item)),
        options,
      );
    const results = (items.length === 0 ? [] : await this.#run(items, last)).values();
    return read.map((item) => (item instanceof MillraceError ? enqueueResultOf<never>(item) : results.next().value!));
  }

  /** The item, or why it is refused. */
  async #read(call: Call, input: JobInput): Promise<EnqueueItem | MillraceError> {
    if (typeof input === "object" && input !== null && isKind(input.type) && !("tx" in input)) {
      const { type, payload, ...options } = input;
      return call.itemOf(type, payload, options).catch(asInputError);
    }
    const [answer] = await this.#enqueueMany([input]);
    return answer.ok ? invalid("job", "an object with a type", input) : answer.error;
  }

  async #run(items: readonly EnqueueItem[], last: Last): Promise<EnqueueResult[]> {
    const middleware = [...this.#middleware];
    const run = async (index: number, given: readonly EnqueueItem[]): Promise<EnqueueResult[]> => {
      const next = middleware[index];
      return next === undefined ? last(given) : next(given, (changed) => run(index + 1, changed));
    };
    const results: unknown = await run(0, items);
    if (Array.isArray(results) && results.length === items.length && results.every(isResult)) return results;
    throw invalid("the result of an enqueue middleware", `the list that next returns, with ${items.length} results`, results);
  }
}

/** What the jobs of one call had before middleware saw them. */
class Call {
  readonly #defaults: JobOptions;
  /**
   * Definitions by type. The client learns from them which types are known. Without their schema, which was checked before, and without their
   * options, which are in the item: an item that named the type has none of them.
   */
  readonly #definitions = new Map<string, JobDefinition<unknown>>();
  /** Payloads that came as text: if middleware leaves one as it is, it is stored as it was written. */
  readonly #texts = new WeakMap<object, JsonText>();

  constructor(defaults: JobOptions) {
    this.#defaults = defaults;
  }

  async itemOf(kind: Kind, payload: unknown, options: JobOptions): Promise<EnqueueItem> {
    const given = payload instanceof JsonText ? payload.value : payload;
    if (payload instanceof JsonText && typeof given === "object" && given !== null) this.#texts.set(given, payload);
    if (typeof kind === "string") return { ...mergeOptions(this.#defaults, options), type: kind, payload: given };
    if (kind.input !== undefined) await checkPayload(kind.input, JSON.parse(encodeJson(payload, "payload", MAX_PAYLOAD_BYTES)));
    this.#definitions.set(kind.type, { ...kind, input: undefined, options: {} });
    return { ...mergeOptions(this.#defaults, kind.options, options), type: kind.type, payload: given };
  }

  inputOf(item: EnqueueItem): JobInput {
    const { type, payload } = item;
    const text = typeof payload === "object" && payload !== null ? this.#texts.get(payload) : undefined;
    return { ...item, type: this.#definitions.get(type) ?? type, payload: text ?? payload };
  }
}

function isKind(kind: unknown): kind is Kind {
  return typeof kind === "string" || (isDefinition(kind) && typeof kind.type === "string");
}

/** Whether these are options, or none. */
function isOptions(options: unknown): boolean {
  if (options === undefined || options === null) return true;
  return typeof options === "object" && !Array.isArray(options) && (options as { readonly tx?: unknown }).tx !== null;
}

function isResult(result: unknown): result is EnqueueResult {
  return typeof result === "object" && result !== null && "ok" in result;
}

/** What is not ours to tell, such as an error of the caller's transaction, is thrown. */
function asRefused(error: unknown): EnqueueResult {
  if (!(error instanceof MillraceError)) throw error;
  return enqueueResultOf<never>(error);
}

function refuse(error: unknown): never {
  throw asInputError(error);
}
