/**
 * JOBS THAT MUST START IN TIME (`startWithin`). One that was not started so long after it was due ends cancelled, without its handler. A claim checks it.
 * And so that a job ends in time that nobody claims, an internal job comes due at its deadline: upkeep works it.
 *
 * Only a job that was never claimed expires: its fence is 0 before the first claim, and 1 after it.
 */
import { callId } from "./called-id.ts";
import { formatDuration } from "./duration.ts";
import { withGroup } from "./error-group.ts";
import { INTERNAL_MARK, INTERNAL_TYPES } from "./internal.ts";
import { type JobError, type JobRecord, type NewJob, PLAIN_JOB } from "./job.ts";
import { CANCEL, type Move, type Transition } from "./lifecycle.ts";
import { partitionOf } from "./partition.ts";

export const DEADLINE_TYPE: string = `${INTERNAL_TYPES}deadline`;
export const DEADLINE_QUEUE: string = `${INTERNAL_MARK}deadlines`;

/** Whose deadlines they are: no caller has this life. */
const LIFE_OF_DEADLINE = -2;

/** The internal job that comes due at the deadline of this one, which is due at `runAt`; null if it has none. */
export function deadlineOf({ id, startWithinMs }: Pick<NewJob, "id" | "startWithinMs">, runAt: number): NewJob | null {
  if (startWithinMs === null || startWithinMs === undefined) return null;
  return {
    id: callId({ id, life: LIFE_OF_DEADLINE }, String(runAt), partitionOf(DEADLINE_QUEUE)),
    type: DEADLINE_TYPE,
    queue: DEADLINE_QUEUE,
    ...PLAIN_JOB,
    payload: JSON.stringify({ id }),
    runAt: runAt + startWithinMs,
    maxRetries: 0,
    maxLost: 100,
    retryDelayMs: 1000,
    timeoutMs: 0,
    webhookUrl: null,
  };
}

/** The job of such a deadline. */
export function jobOfDeadline({ payload }: Pick<JobRecord, "payload">): string {
  return (JSON.parse(payload) as { readonly id: string }).id;
}

/** Whether a job that was just claimed came too late. */
export function isExpired({ startWithinMs, fence, runAt, startedAt }: JobRecord): boolean {
  return startWithinMs !== null && fence === 1 && startedAt !== null && startedAt - runAt > startWithinMs;
}

/** How the attempt ends of a job that was claimed too late. No handler was called. */
export function expiry(job: Pick<JobRecord, "startWithinMs">): Transition {
  return { ...CANCEL.transition, bumpFence: false, giveBackAttempt: true, error: expired(job), errorOnlyIfRunning: false };
}

/** The end of a job that nobody claimed in time. */
export function expire(job: Pick<JobRecord, "startWithinMs">): Move {
  const error = expired(job);
  const { name, message, kind } = error;
  return {
    from: ["pending"],
    transition: { ...CANCEL.transition, error, errorOnlyIfRunning: false },
    ending: { state: "failed", value: JSON.stringify({ name, message, kind, status: "cancelled" }) },
    leavesHeld: true,
  };
}

function expired({ startWithinMs }: Pick<JobRecord, "startWithinMs">): JobError {
  const message = `it did not start within ${formatDuration(startWithinMs ?? 0)} of its due time`;
  return withGroup({ name: "Expired", message, stack: null, kind: "expired" });
}
