/** CHECKS OF WORKER CALLS. Our own workers are trusted and skip them, because they cost half a microsecond a report (see local-client.ts). */
import { ALL_QUEUES } from "../core/delivery.ts";
import { MAX_DELAY_MS } from "../core/duration.ts";
import { invalid } from "../core/errors.ts";
import { MAX_ERROR_NAME_LENGTH, MAX_ERROR_TEXT_LENGTH, MAX_LOG_LINE_BYTES, MAX_LOG_LINES } from "../core/job.ts";
import { MAX_PAYLOAD_BYTES, utf8Length } from "../core/json.ts";
import { OUTCOME_KINDS, type Outcome } from "../core/lifecycle.ts";
import { isName, NAME_RULE } from "../core/read-fields.ts";
import { type Check, integer, is, listOf, nullable, oneOf, optional, shape, text } from "../core/shape.ts";
import { MAX_HOST_LENGTH, MAX_LEASE_MS, MAX_QUEUES, MAX_RUNNING_SHOWN, MAX_SLOTS, MAX_TYPES, MIN_LEASE_MS } from "../core/work-limits.ts";
import { isId } from "../lib/id.ts";
import { MAX_BATCH } from "../store/store.ts";
import type { Leases } from "./client.ts";

const MAX_TTL_MS = 86_400_000;

const name = is(NAME_RULE, isName);
const id = is("the id of a job, a UUIDv7 in lower case", isId);
const flag = oneOf([true, false]);
const delayMs = integer(0, MAX_DELAY_MS);
const leaseMs = integer(MIN_LEASE_MS, MAX_LEASE_MS);
const runMs = is("a time in milliseconds, at least 0", isAmount);
const queueName = is(`${NAME_RULE}, or "*" for all queues`, (value) => value === ALL_QUEUES || isName(value));
const queues = listOf(queueName, 1, MAX_QUEUES);
const typeList = listOf(name, 1, MAX_TYPES);
const types: Check = (value) => (value === "*" ? null : typeList(value));

const error = shape({
  name: text(MAX_ERROR_NAME_LENGTH),
  message: text(MAX_ERROR_TEXT_LENGTH),
  stack: nullable(text(MAX_ERROR_TEXT_LENGTH)),
  kind: oneOf(["error", "timeout", "lost", "cancelled"]),
});

const OUTCOMES: Readonly<Record<Outcome["kind"], Check>> = {
  completed: shape({ result: nullable(is(`JSON of at most ${MAX_PAYLOAD_BYTES} bytes`, isJson)), runMs }),
  failed: shape({ error, delayMs: optional(delayMs), runMs }),
  discard: shape({ error, runMs }),
  snooze: shape({ delayMs }),
  release: shape({}),
  lost: shape({}),
};

const kindOfOutcome = shape({ kind: oneOf(OUTCOME_KINDS) });
const outcome: Check = (value) => kindOfOutcome(value) ?? OUTCOMES[(value as Outcome).kind](value);

const lease = { id, fence: integer(0) };
const facts = shape({
  type: name,
  queue: name,
  retryCount: integer(0),
  maxRetries: integer(0),
  lostCount: integer(0),
  maxLost: integer(0),
  retryDelayMs: delayMs,
  snoozes: integer(0),
  webhookUrl: nullable(is("a string", (value) => typeof value === "string")),
  deadLetters: flag,
});
const report = shape({ ...lease, outcome, facts: optional(facts) });
const reports = listOf(report, 0, MAX_SLOTS);
const claim = nullable(
  shape({ workerId: name, queues, types, limit: integer(1, MAX_BATCH), leaseMs, turn: integer(0), again: flag, remote: optional(flag) }),
);

const line = is(`a string of at most ${MAX_LOG_LINE_BYTES} bytes`, isLine);
const progress = shape({ percent: is("a number from 0 to 100", (value) => isAmount(value) && value <= 100), note: nullable(line) });
const note = shape({ ...lease, type: name, queue: name, progress: nullable(progress), lines: listOf(line, 0, MAX_LOG_LINES) });
const notes = listOf(note, 0, MAX_SLOTS);
const leases = listOf(shape(lease), 0, MAX_SLOTS);

const worker = shape({
  id: name,
  host: text(MAX_HOST_LENGTH),
  pid: integer(0),
  state: oneOf(["idle", "busy", "stopping"]),
  slots: integer(0),
  queues,
  types,
  startedAt: integer(0),
  running: listOf(id, 0, MAX_RUNNING_SHOWN),
  runningCount: integer(0),
  processed: integer(0),
  perMinute: is("a number of at least 0", isAmount),
  abandoned: integer(0),
});

/** The same verbs, with their input checked. */
export function checkedLeases(inner: Leases): Leases {
  return {
    exchange(givenReports, givenClaim) {
      demand("reports", givenReports, reports);
      demand("claim", givenClaim, claim);
      return inner.exchange(givenReports, givenClaim);
    },
    settleWithin(tx, given) {
      demand("report", given, report);
      return inner.settleWithin(tx, given);
    },
    extend(given, givenMs) {
      demand("leases", given, leases);
      demand("leaseMs", givenMs, leaseMs);
      return inner.extend(given, givenMs);
    },
    note(given) {
      demand("notes", given, notes);
      return inner.note(given);
    },
    register(given, ttlMs) {
      demand("worker", given, worker);
      demand("ttlMs", ttlMs, integer(1, MAX_TTL_MS));
      return inner.register(given, ttlMs);
    },
    unregister(workerId) {
      demand("workerId", workerId, name);
      return inner.unregister(workerId);
    },
    watch(listener) {
      if (typeof listener !== "function") throw invalid("listener", "a function", listener);
      return inner.watch(listener);
    },
  };
}

function demand(field: string, value: unknown, check: Check): void {
  const fault = check(value);
  if (fault !== null) throw invalid(field + fault.path, fault.mustBe, fault.got);
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isLine(value: unknown): boolean {
  if (typeof value !== "string") return false;
  return value.length * 3 <= MAX_LOG_LINE_BYTES || (value.length <= MAX_LOG_LINE_BYTES && utf8Length(value) <= MAX_LOG_LINE_BYTES);
}

/** A result that is not JSON would make every read of the job fail. */
function isJson(value: unknown): boolean {
  if (typeof value !== "string" || value.length > MAX_PAYLOAD_BYTES || utf8Length(value) > MAX_PAYLOAD_BYTES) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
