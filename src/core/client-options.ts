/** WHAT A CLIENT OVER A STORE CAN BE TOLD, once: `connect`, the server, the command line and the test kit take it from here. */
import { invalid } from "./errors.ts";
import type { JobOptions } from "./job-options.ts";
import { MAX_COUNT } from "./queue.ts";
import { readFields } from "./read-fields.ts";
import { type Check, integer, is } from "./shape.ts";
import type { OnTrouble } from "./trouble.ts";
import { MAX_POOL_SIZE, MAX_RETENTION_DAYS } from "./work-limits.ts";

/** Options of a client over a store, whoever opens it. */
export interface ClientOptions {
  /** What holds for jobs of which neither the call nor the definition says anything. */
  readonly defaults?: JobOptions | undefined;
  /** Refuse types that no definition used here and no live worker knows. Default false. */
  readonly strictTypes?: boolean | undefined;
  /** The most connections to a PostgreSQL server; two more are kept beside it, for beats and for news. Default 10. */
  readonly poolSize?: number | undefined;
  /**
   * The capacity of queues that have none of their own. It is stored with a queue when its first job is enqueued here, outside of a
   * transaction; a queue that has a capacity keeps it. Default: none.
   */
  readonly queueCapacity?: number | undefined;
  /** How many days figures by the hour are kept by the upkeep of this process. Default 30. */
  readonly metricsRetentionDays?: number | undefined;
  /**
   * Private addresses and ranges, such as `10.0.0.0/8`, that webhooks and `http:request` may be sent to all the same. An address that can be
   * seen to be private is refused when a job is enqueued; the servers that send are told with WEBHOOK_ALLOW, so name the same here. Default: none.
   */
  readonly webhookAllow?: readonly string[] | undefined;
  /** Do upkeep in this process also while it has no worker: it serves workers elsewhere. Default false. */
  readonly upkeep?: boolean | undefined;
  /** Told what a person should know. Default: a line on the console. */
  readonly onTrouble?: OnTrouble | undefined;
}

const yesOrNo = is("true or false", (given) => typeof given === "boolean");

const RULES: Readonly<Record<Exclude<keyof ClientOptions, "defaults">, Check>> = {
  strictTypes: yesOrNo,
  poolSize: integer(1, MAX_POOL_SIZE),
  queueCapacity: integer(1, MAX_COUNT),
  metricsRetentionDays: integer(1, MAX_RETENTION_DAYS),
  // Whoever opens the store checks the ranges: only there are the rules of addresses loaded.
  webhookAllow: is("a list of addresses or ranges, such as 10.0.0.0/8", Array.isArray),
  upkeep: yesOrNo,
  onTrouble: is("a function", (given) => typeof given === "function"),
};

/** The options that only whoever opens the store can go by: a client over HTTP refuses them. */
export const STORE_ONLY_OPTIONS = Object.keys(RULES).filter((name) => name !== "onTrouble") as Exclude<keyof typeof RULES, "onTrouble">[];

/**
 * Checks what a client is told, beside the options that only the caller knows. Throws `invalid_input` at the first bad or unknown one.
 * `defaults` are read apart, where there is a clock to read them by.
 */
export function checkClientOptions(options: ClientOptions, what: string, others: readonly string[]): void {
  const given = readFields(options, what, [...others, "defaults", ...Object.keys(RULES)]);
  for (const [name, check] of Object.entries(RULES)) {
    const fault = given[name] === undefined ? null : check(given[name]);
    if (fault !== null) throw invalid(name, fault.mustBe, fault.got);
  }
}
