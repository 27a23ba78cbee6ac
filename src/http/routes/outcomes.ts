/** Outcomes from the wire -> reports. */
import type { LeaseFacts, LeaseRef, Report } from "../../client/client.ts";
import { invalid } from "../../core/errors.ts";
import type { AttemptError } from "../../core/job.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "../../core/json.ts";
import type { Outcome } from "../../core/lifecycle.ts";
import type { OutcomeWire } from "../contract/leases.ts";
import type { Grants } from "../grants.ts";
import { missing, readDelay } from "./read-parts.ts";
import { readSuspension } from "./suspension.ts";

/** Throws `invalid_input` for the first outcome that lacks what its kind needs. `startOf` says when an attempt began. */
export function readOutcomes(
  outcomes: readonly OutcomeWire[],
  grants: Grants,
  now: number,
  startOf: (lease: LeaseRef) => number,
): Report[] {
  return outcomes.map((given, index) => {
    const { id, fence, spend } = given;
    const place = `outcomes[${index}]`;
    const runMs = given.run_ms ?? Math.max(0, now - startOf(given));
    const outcome = readOutcome(given, runMs, place, now);
    return { id, fence, facts: factsOf(given, grants), heldMs: given.held_ms, spend, unstarted: readUnstarted(given, place), outcome };
  });
}

function readOutcome(given: OutcomeWire, runMs: number, place: string, now: number): Outcome {
  switch (given.outcome) {
    case "completed":
      return { kind: "completed", result: readResult(given.result, `${place}.result`), runMs };
    case "failed":
      return { kind: "failed", error: readError(given.error, place), delayMs: readDelay(given.delay, `${place}.delay`), runMs };
    case "discard":
      return { kind: "discard", error: readError(given.error, place), runMs };
    case "snooze":
      return { kind: "snooze", delayMs: readDelay(given.delay, `${place}.delay`) ?? missing(`${place}.delay`, "how long to wait") };
    case "hold":
      return {
        kind: "hold",
        delayMs: readDelay(given.delay, `${place}.delay`) ?? missing(`${place}.delay`, "how long to hold the limit key"),
      };
    case "release":
      return { kind: "release" };
    case "suspend":
      return readSuspension(given.waits, place, now);
  }
}

/**
 * What this server knows of the lease. A step that the attempt stored, maybe through another server, has set its retries and losses to 0: then a
 * failure must not count from what was granted, and the store is asked.
 */
function factsOf(given: OutcomeWire, grants: Grants): LeaseFacts | undefined {
  const facts = grants.get(given);
  const mayBeOld = given.outcome === "failed" && facts !== undefined && facts.retryCount + facts.lostCount > 0;
  return mayBeOld ? undefined : facts;
}

/** A handler that was called may have used what it was given. */
function readUnstarted({ outcome, unstarted }: OutcomeWire, place: string): true | undefined {
  if (unstarted !== true) return undefined;
  if (outcome !== "release") throw invalid(`${place}.unstarted`, "left out, or given with the outcome release", unstarted);
  return unstarted;
}

/** A JsonText, as the contract keeps it. */
function readResult(result: unknown, field: string): string | null {
  const text = result === undefined ? "null" : encodeJson(result, field, MAX_PAYLOAD_BYTES);
  return text === "null" ? null : text;
}

function readError(error: OutcomeWire["error"], place: string): AttemptError {
  if (error === undefined) return missing(`${place}.error`, "why the attempt did not succeed");
  if (typeof error === "string") return { name: "Error", message: error, stack: null, kind: "error" };
  const { name = "Error", message, stack = null, kind = "error", version } = error;
  return { name, message, stack, kind, version };
}
