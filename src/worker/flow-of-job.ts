/** `ctx.flow`: what a handler can ask of the flow that its job is a member of. */
import type { FlowContext, FlowMemberInput, Flows, MemberOutcome } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import { MAX_RESULTS_BYTES } from "../core/flow.ts";
import type { Job } from "../core/job.ts";

export class FlowOfJob implements FlowContext {
  readonly #job: Pick<Job, "id" | "flow">;
  readonly #flows: Pick<Flows, "outcomes" | "add">;

  constructor(job: Pick<Job, "id" | "flow">, flows: Pick<Flows, "outcomes" | "add">) {
    this.#job = job;
    this.#flows = flows;
  }

  get id(): string | null {
    return this.#job.flow?.id ?? null;
  }

  get name(): string | null {
    return this.#job.flow?.name ?? null;
  }

  get results(): FlowContext["results"] {
    return async () => {
      const results: Record<string, unknown> = {};
      let bytes = 0;
      for await (const { name, status, result } of this.each()) {
        if (status !== "completed") continue;
        // Any name is a field of its own, also one that every object inherits.
        Object.defineProperty(results, name, { value: result, enumerable: true, configurable: true, writable: true });
        bytes += (JSON.stringify(result) as string | undefined)?.length ?? 0;
        if (bytes > MAX_RESULTS_BYTES) throw tooLarge();
      }
      return results;
    };
  }

  get outcome(): FlowContext["outcome"] {
    return async (name) => {
      for await (const outcome of this.each()) if (outcome.name === name) return outcome;
      return null;
    };
  }

  get each(): FlowContext["each"] {
    return () => this.#each();
  }

  get add(): FlowContext["add"] {
    return (members: readonly FlowMemberInput[]) => this.#demand((id) => this.#flows.add(id, members));
  }

  async *#each(): AsyncGenerator<MemberOutcome> {
    for (let cursor: string | null = null; ;) {
      const page: Awaited<ReturnType<Flows["outcomes"]>> = await this.#demand((id, name) => this.#flows.outcomes(id, name, { cursor }));
      yield* page.outcomes;
      cursor = page.cursor;
      if (cursor === null) return;
    }
  }

  async #demand<Answer>(ask: (id: string, name: string) => Promise<Answer>): Promise<Answer> {
    const { id, flow } = this.#job;
    if (flow !== null) return ask(flow.id, flow.name);
    throw new MillraceError("not_found", `job ${id} is in no flow: ctx.flow works in handlers of jobs that client.flow created`, {
      jobId: id,
    });
  }
}

function tooLarge(): MillraceError {
  const message = `the results are larger than ${MAX_RESULTS_BYTES / 2 ** 20} MiB in all: read them one by one with ctx.flow.each()`;
  return new MillraceError("invalid_input", message);
}
