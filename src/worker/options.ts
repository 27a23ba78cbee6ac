import type { Backoff, WorkOptions } from "../client/client.ts";
import { BULK_QUEUE } from "../core/bulk.ts";
import { ALL_DELIVERIES, ALL_QUEUES } from "../core/delivery.ts";
import { invalid } from "../core/errors.ts";
import { DEFAULT_QUEUE } from "../core/queue.ts";
import { readBackoffs } from "./backoffs.ts";
import { demandInteger, isName, NAME_RULE, readFields } from "../core/read-fields.ts";
import {
  DEFAULT_AHEAD_MS,
  DEFAULT_SETTLE_MS,
  MAX_QUEUES,
  MAX_SLOTS,
  readAhead,
  readGrace,
  readLease,
  readSettle,
  readVersion,
} from "../core/work-limits.ts";

const MAX_WEIGHT = 1000;
/** Names that no user's queue has, but that a worker may serve. */
const OWN_NAMES: readonly string[] = [ALL_QUEUES, ALL_DELIVERIES, BULK_QUEUE];
const OPTION_NAMES: readonly (keyof WorkOptions)[] = ["concurrency", "queues", "lease", "grace", "settle", "version", "backoffs", "ahead"];

/** Checked options, with defaults filled in. */
export interface WorkSettings {
  readonly minSlots: number;
  readonly maxSlots: number;
  /** Weight by queue, in the order given. */
  readonly queues: ReadonlyMap<string, number>;
  readonly leaseMs: number;
  readonly graceMs: number;
  readonly settleMs: number;
  readonly version: string | undefined;
  readonly backoffs: ReadonlyMap<string, Backoff>;
  readonly aheadMs: number;
}

/** Checks the options of `work`; throws `invalid_input` at the first bad field. */
export function readWorkOptions(options: WorkOptions = {}): WorkSettings {
  readFields(options, "the options of a worker", OPTION_NAMES);
  return {
    ...readConcurrency(options.concurrency),
    queues: readQueues(options.queues),
    leaseMs: readLease(options.lease ?? "30s"),
    graceMs: readGrace(options.grace ?? "30s"),
    settleMs: readSettle(options.settle ?? DEFAULT_SETTLE_MS),
    version: options.version === undefined ? undefined : readVersion(options.version),
    backoffs: readBackoffs(options.backoffs),
    aheadMs: readAhead(options.ahead ?? DEFAULT_AHEAD_MS),
  };
}

function readConcurrency(concurrency: WorkOptions["concurrency"] = 10): { minSlots: number; maxSlots: number } {
  if (typeof concurrency !== "object" || concurrency === null) {
    const slots = demandInteger(concurrency, "concurrency", 1, MAX_SLOTS);
    return { minSlots: slots, maxSlots: slots };
  }
  readFields(concurrency, "concurrency", ["min", "max"], "concurrency.");
  const minSlots = demandInteger(concurrency.min, "concurrency.min", 1, MAX_SLOTS);
  const maxSlots = demandInteger(concurrency.max, "concurrency.max", 1, MAX_SLOTS);
  if (minSlots > maxSlots) throw invalid("concurrency.max", `at least concurrency.min (${minSlots})`, maxSlots);
  return { minSlots, maxSlots };
}

function readQueues(queues: WorkOptions["queues"] = [DEFAULT_QUEUE]): ReadonlyMap<string, number> {
  if (typeof queues !== "object" || queues === null) throw invalid("queues", "a list of names, or an object of weights by name", queues);
  const entries: [unknown, unknown][] = Array.isArray(queues) ? queues.map((name: unknown) => [name, 1]) : Object.entries(queues);
  if (entries.length === 0 || entries.length > MAX_QUEUES) throw invalid("queues", `1 to ${MAX_QUEUES} names`, queues);
  const weights = new Map<string, number>();
  for (const [name, value] of entries) {
    if (!isName(name) && !isOwnName(name)) throw invalid("queues", `names of ${NAME_RULE}`, name);
    const weight = demandInteger(value, `queues.${name}`, 1, MAX_WEIGHT);
    if (weights.has(name)) throw invalid("queues", "a list that names each queue only once", name);
    weights.set(name, weight);
  }
  return weights;
}

function isOwnName(name: unknown): name is string {
  return typeof name === "string" && OWN_NAMES.includes(name);
}
