/** THE JOBS THAT A STEP CALLS. Their ids are made from the calling job, so that each exists once, however often its call is reported. */
import { type Caller, callId } from "../core/called-id.ts";
import { MillraceError } from "../core/errors.ts";
import type { AttemptError, NewJob } from "../core/job.ts";
import { JsonText } from "../core/json-text.ts";
import { CANCEL } from "../core/lifecycle.ts";
import { type CallRequest, stepDoesNotFit, type StepRecord } from "../core/steps.ts";
import type { Store } from "../store/store.ts";
import type { Enqueuer } from "./enqueue.ts";

/** Makes the jobs that an attempt calls. Rejects with what is wrong with one of them. */
export async function createCalls(enqueuer: Enqueuer, caller: Caller, calls: readonly CallRequest[]): Promise<NewJob[]> {
  return Promise.all(
    calls.map(async ({ step, type, payload, options }) => {
      refuseKey(options.idempotencyKey, "idempotencyKey");
      refuseKey((options as { readonly coalesce?: unknown }).coalesce, "coalesce");
      const job = await enqueuer.create(type, new JsonText(payload, JSON.parse(payload)), options, (partition) =>
        callId(caller, step, partition),
      );
      return { ...job, parent: { id: caller.id, step, life: caller.life } };
    }),
  );
}

function refuseKey(key: unknown, field: string): void {
  if (key === undefined) return;
  throw new MillraceError("invalid_input", `${field} cannot be used with a call: the step is its key`, { field });
}

/** What a call that cannot be made means for the attempt. */
export function callRefused(error: unknown): AttemptError {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return { name, message: `a call was refused: ${message}`, stack: null, kind: "error" };
}

/** What waits without room mean for the attempt. */
export function waitRefused(step: string, jobId: string): AttemptError {
  const { name, message } = stepDoesNotFit(step, jobId);
  return { name, message, stack: null, kind: "error" };
}

/** The number of times that the steps of a job were forgotten, and one; and the names of those that it has. */
export async function lifeOf(store: Pick<Store, "readSteps">, id: string): Promise<{ life: number; names: ReadonlySet<string> }> {
  const read = await readAllSteps(store, id, null);
  return { life: read?.life ?? 1, names: new Set(read?.steps.map(({ name }) => name)) };
}

/** All steps of a job; null if there is no such job, or if the lease does not hold. */
export async function readAllSteps(
  store: Pick<Store, "readSteps">,
  id: string,
  fence: number | null,
): Promise<{ readonly now: number; readonly life: number; readonly steps: StepRecord[] } | null> {
  const steps: StepRecord[] = [];
  for (let after: string | null = null; ;) {
    const page = await store.readSteps(id, fence, after);
    if (page === null) return null;
    steps.push(...page.steps);
    if (page.cursor === null) return { now: page.now, life: page.life, steps };
    after = page.cursor;
  }
}

/** Statuses in which a job takes signals. */
export const TAKES_SIGNALS = CANCEL.from;
