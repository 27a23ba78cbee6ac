import type { JobDefinition } from "../client/client.ts";
import { createdJob } from "../client/enqueue-answer.ts";
import { invalid, messageOf } from "../core/errors.ts";
import type { Job, NewJob } from "../core/job.ts";
import { typeOfKind } from "../core/job-definition.ts";
import { encodeJson } from "../core/json.ts";
import { type CallError, endNotice, MAX_STEP_BYTES } from "../core/steps.ts";
import type { Settlement, Store } from "../store/store.ts";
import { readResult } from "../worker/apply-schema.ts";

/** Returns the result of a call; what it throws is the failure of the call. */
export type CallAnswer<Payload = unknown, Result = unknown> = (payload: Payload, job: Job<Payload>) => Result | Promise<Result>;

interface Resolver {
  readonly answer: CallAnswer<never>;
  readonly output: JobDefinition<unknown>["output"];
}

/**
 * CALLS WITHOUT THE CALLED JOBS. A test of a handler that calls others says what they return. Such a call inserts no job: its step ends with the
 * answer once the caller is suspended.
 */
export class ResolvedCalls {
  readonly #store: Store;
  readonly #resolvers = new Map<string, Resolver>();
  /** How many answers are under way. */
  underWay = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#watchExchange();
  }

  /** From now on, calls of this type are answered so. */
  set(kind: string | JobDefinition<unknown>, answer: CallAnswer<never>): void {
    const type = typeOfKind(kind);
    if (typeof answer !== "function") throw invalid("answer", "a function", answer);
    this.#resolvers.set(type, { answer, output: typeof kind === "string" ? undefined : kind.output });
  }

  #watchExchange(): void {
    const exchange = this.#store.exchange.bind(this.#store);
    this.#store.exchange = async (settlements, claims) => {
      if (!settlements.some((settlement) => this.#resolvedOf(settlement).length > 0)) return exchange(settlements, claims);
      const without = settlements.map((settlement) => {
        const resolved = this.#resolvedOf(settlement);
        return { ...settlement, calls: settlement.calls?.filter((call) => !resolved.includes(call)) };
      });
      const answers = await exchange(without, claims);
      settlements.forEach((settlement, index) => {
        if (answers.settled[index] === "ok") for (const call of this.#resolvedOf(settlement)) void this.#answer(call);
      });
      return answers;
    };
  }

  #resolvedOf({ calls = [] }: Settlement): NewJob[] {
    return calls.filter(({ type }) => this.#resolvers.has(type));
  }

  async #answer(call: NewJob): Promise<void> {
    this.underWay++;
    try {
      const ending = await this.#ending(call);
      await this.#store.endSteps([endNotice(call.parent!, call.id, 1, ending).end]);
    } catch {
      // The test has closed the client: nobody waits for this answer.
    } finally {
      this.underWay--;
    }
  }

  async #ending(call: NewJob): Promise<{ state: "done" | "failed"; value: string | null }> {
    const { answer, output } = this.#resolvers.get(call.type)!;
    try {
      const job = createdJob(call, "running", 0, 0);
      const returned = await answer(job.payload as never, job as unknown as Job<never>);
      const result = output === undefined ? returned : await readResult(returned, output);
      return { state: "done", value: result === undefined ? null : encodeJson(result, "result", MAX_STEP_BYTES) };
    } catch (thrown) {
      const name = thrown instanceof Error ? thrown.name : "Error";
      const error: CallError = { name, message: messageOf(thrown), kind: "error", status: "dead" };
      return { state: "failed", value: JSON.stringify(error) };
    }
  }
}
