import type { WorkOptions } from "../client/client.ts";
import { formatDuration, parseDuration } from "../core/duration.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { isName, NAME_RULE, readInteger } from "../core/job.ts";
import { DEFAULT_QUEUE } from "../core/queue.ts";

const MAX_SLOTS = 10_000;
const MAX_QUEUES = 1000;
const MAX_WEIGHT = 1000;
const MIN_LEASE_MS = 1000;
const MAX_LEASE_MS = 3_600_000;
const MAX_GRACE_MS = 86_400_000;
const OPTION_NAMES: readonly (keyof WorkOptions)[] = ["concurrency", "queues", "lease", "grace"];

/** Options as they were read: checked, gaps filled. */
export interface WorkSettings {
  readonly minSlots: number;
  readonly maxSlots: number;
  /** Weight by queue, in the order given. */
  readonly queues: ReadonlyMap<string, number>;
  readonly leaseMs: number;
  readonly graceMs: number;
}

/** Checks what a user gave to `work`; throws `invalid_input` at the first bad field. */
export function readWorkOptions(options: WorkOptions = {}): WorkSettings {
  for (const name of Object.keys(options)) {
    if (OPTION_NAMES.includes(name as keyof WorkOptions)) continue;
    throw new MillraceError("invalid_input", `${name} is not an option of a worker; known are ${OPTION_NAMES.join(", ")}`, { field: name });
  }
  return {
    ...readConcurrency(options.concurrency),
    queues: readQueues(options.queues),
    leaseMs: readDuration("lease", options.lease ?? "30s", MIN_LEASE_MS, MAX_LEASE_MS),
    graceMs: readGrace(options.grace ?? "30s"),
  };
}

/** Checks the time that handlers may go on after stop. */
export function readGrace(grace: unknown): number {
  return readDuration("grace", grace, 0, MAX_GRACE_MS);
}

function readConcurrency(concurrency: WorkOptions["concurrency"] = 10): { minSlots: number; maxSlots: number } {
  if (typeof concurrency !== "object" || concurrency === null) {
    const slots = readSlots("concurrency", concurrency);
    return { minSlots: slots, maxSlots: slots };
  }
  const minSlots = readSlots("concurrency.min", concurrency.min);
  const maxSlots = readSlots("concurrency.max", concurrency.max);
  if (minSlots > maxSlots) throw invalid("concurrency.max", `at least concurrency.min (${minSlots})`, maxSlots);
  return { minSlots, maxSlots };
}

function readSlots(field: string, value: unknown): number {
  const slots = readInteger(value, 1, MAX_SLOTS);
  if (slots === undefined) throw invalid(field, `a whole number from 1 to ${MAX_SLOTS}`, value);
  return slots;
}

function readQueues(queues: WorkOptions["queues"] = [DEFAULT_QUEUE]): ReadonlyMap<string, number> {
  if (typeof queues !== "object" || queues === null) throw invalid("queues", "a list of names, or an object of weights by name", queues);
  const entries: [unknown, unknown][] = Array.isArray(queues) ? queues.map((name: unknown) => [name, 1]) : Object.entries(queues);
  if (entries.length === 0 || entries.length > MAX_QUEUES) throw invalid("queues", `1 to ${MAX_QUEUES} names`, queues);
  const weights = new Map<string, number>();
  for (const [name, value] of entries) {
    if (!isName(name)) throw invalid("queues", `names of ${NAME_RULE}`, name);
    const weight = readInteger(value, 1, MAX_WEIGHT);
    if (weight === undefined) throw invalid(`queues.${name}`, `a whole number from 1 to ${MAX_WEIGHT}`, value);
    if (weights.has(name)) throw invalid("queues", "a list that names each queue once", name);
    weights.set(name, weight);
  }
  return weights;
}

function readDuration(field: string, value: unknown, minMs: number, maxMs: number): number {
  const ms = parseDuration(value);
  if (ms !== null && ms >= minMs && ms <= maxMs) return ms;
  throw invalid(field, `a time from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, in milliseconds or as "30s"`, value);
}
