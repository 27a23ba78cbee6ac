/**
 * DOES A PAYLOAD FIT? A server refuses a job whose payload fits none of the schemas that live workers publish for its queue and type, instead of
 * letting it die. If no schema is known, or none in time, the job is accepted: the worker checks again before its handler runs.
 */
import type { Client } from "../client/client.ts";
import { type HandledType, schemasFor } from "../core/handled-type.ts";
import { JsonText } from "../core/json-text.ts";
import { isInternalType } from "../core/internal.ts";
import { DEFAULT_QUEUE } from "../core/queue.ts";
import type { JsonSchema } from "../core/payload-schema.ts";
import { atMost, type Clock } from "../lib/clock.ts";
import { ReadAgain } from "../lib/read-again.ts";
import { fitsOne, refusal, toApply } from "./fit-schema.ts";

/** How long a lookup counts for a payload that fits, and for one that is refused: a new worker may take it. */
const FRESH_MS = 5000;
const FRESH_TO_REFUSE_MS = 1000;
/** The longest that a request waits for a lookup; then its payload is not checked. So long, nobody else waits for one either. */
const MAX_WAIT_MS = 1000;
/** How many pairs of queue and type are remembered. */
const MAX_PAIRS = 10_000;

/** The queue as the caller named it: undefined is the default. */
interface JobPlace {
  readonly queue?: unknown;
  readonly type: unknown;
}

/** What a lookup found. */
interface Known {
  readonly handled: readonly HandledType[];
  /** The schemas of the pairs of queue and type that were asked for since; null: anything fits. */
  readonly schemas: Map<string, readonly JsonSchema[] | null>;
}

export class PayloadCheck {
  readonly #clock: Clock;
  readonly #known: ReadAgain<Known>;
  #gaveUpAt = -Infinity;

  constructor(client: Pick<Client, "types">, clock: Clock) {
    this.#clock = clock;
    const nothing = { handled: [], schemas: new Map() };
    this.#known = new ReadAgain<Known>(clock, nothing, async () => ({ handled: await client.types(), schemas: new Map() }));
  }

  /** Throws `invalid_input`, or rejects with it. No promise on the hot path. */
  check(job: JobPlace, payload: unknown): undefined | Promise<undefined> {
    const { queue = DEFAULT_QUEUE, type } = job;
    // The library refuses these, and says why.
    if (typeof queue !== "string" || typeof type !== "string" || isInternalType(type)) return undefined;
    const value = payload instanceof JsonText ? payload.value : (payload ?? null);
    const isFresh = this.#known.ageMs < FRESH_MS;
    return isFresh && fits(this.#schemasOf(queue, type), value) ? undefined : this.#lookAndCheck(queue, type, value);
  }

  async #lookAndCheck(queue: string, type: string, value: unknown): Promise<undefined> {
    const isFresh = this.#known.ageMs < FRESH_TO_REFUSE_MS;
    if (!isFresh && !(await this.#lookInTime())) return;
    const schemas = this.#schemasOf(queue, type);
    if (!fits(schemas, value)) throw refusal(schemas!, `the schema that workers publish for type ${type}`, value);
  }

  /** Whether a lookup succeeded in time. A batch has up to 1,000 jobs: they must not wait one after the other. */
  async #lookInTime(): Promise<boolean> {
    if (this.#clock.monotonic() - this.#gaveUpAt < MAX_WAIT_MS) return false;
    const looked = this.#known.read().then(
      () => true,
      () => false,
    );
    const isInTime = (await atMost(this.#clock, MAX_WAIT_MS, looked)) === true;
    if (!isInTime) this.#gaveUpAt = this.#clock.monotonic();
    return isInTime;
  }

  #schemasOf(queue: string, type: string): readonly JsonSchema[] | null {
    const pair = `${queue} ${type}`;
    const { handled, schemas } = this.#known.value;
    const known = schemas.get(pair);
    if (known !== undefined) return known;
    if (schemas.size >= MAX_PAIRS) schemas.clear();
    const found = schemasFor(handled, { queue, type })?.map(toApply) ?? null;
    schemas.set(pair, found);
    return found;
  }
}

function fits(schemas: readonly JsonSchema[] | null, value: unknown): boolean {
  return schemas === null || schemas.some((schema) => fitsOne(schema, value));
}
