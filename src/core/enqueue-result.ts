import { MillraceError } from "./errors.ts";

/** What `enqueueMany` says of one job: the job, or why it was refused. */
export function enqueueResultOf<Job extends object>(
  answer: Job | MillraceError,
): { readonly ok: true; readonly job: Job } | { readonly ok: false; readonly error: MillraceError } {
  return answer instanceof MillraceError ? { ok: false, error: answer } : { ok: true, job: answer };
}
