/** OPTIONS OF A CLIENT OVER A STORE. `connect`, the server, the command line and the test kit all read them here. */
import type { JobOptions } from "./job-options.ts";
import { ACTOR_RULE, isActor } from "./manual-change.ts";
import { checkOptions, FUNCTION, type OptionRule, YES_OR_NO } from "./option-rules.ts";
import { MAX_COUNT } from "./queue.ts";
import { readInteger } from "./read-fields.ts";
import type { OnTrouble } from "./trouble.ts";
import { MIN_SECRET_LENGTH, type SignalLinkOptions } from "./signal-links.ts";
import { MAX_POOL_SIZE, MAX_RETENTION_DAYS } from "./work-limits.ts";

/** Options of a client over a store, whoever opens it. */
export interface ClientOptions {
  /** Options for jobs where neither the call nor the definition sets them. */
  readonly defaults?: JobOptions | undefined;
  /** Refuse a type unless a definition used here or a live worker knows it. Default false. */
  readonly strictTypes?: boolean | undefined;
  /** The most connections to a PostgreSQL server, plus two for lease renewal and notifications. Default 10. */
  readonly poolSize?: number | undefined;
  /**
   * The capacity of queues without one of their own. It is stored with a queue when its first job is enqueued here outside of a
   * transaction; a queue that already has a capacity keeps it. Default: none.
   */
  readonly queueCapacity?: number | undefined;
  /** How many days the upkeep of this process keeps hourly figures. Default 30. */
  readonly metricsRetentionDays?: number | undefined;
  /**
   * Private addresses and ranges, such as `10.0.0.0/8`, that webhooks and `http:request` may call. Enqueue refuses a URL that names any
   * other private address. Servers send by their own WEBHOOK_ALLOW, so set both to the same. Default: none.
   */
  readonly webhookAllow?: readonly string[] | undefined;
  /** Do upkeep here even without a worker, because this process serves workers elsewhere. Default false. */
  readonly upkeep?: boolean | undefined;
  /**
   * Who makes the changes of this client that do not name someone with `by`: a program, or a person. At most 128 characters. A server names
   * its API keys and users instead. Default: nobody.
   */
  readonly actor?: string | undefined;
  /**
   * Where links of `ctx.signalUrl` lead, and the secret that signs them: the address at which people reach your server, and its SIGNAL_SECRET.
   * Default: none, and `ctx.signalUrl` says so.
   */
  readonly signals?: SignalLinkOptions | undefined;
  /** Called with what a person should know, such as that a job failed for good. Default: a line on the console. */
  readonly onTrouble?: OnTrouble | undefined;
}

const upTo = (max: number): OptionRule => ({
  mustBe: `a whole number from 1 to ${max}`,
  allows: (given) => readInteger(given, 1, max) !== undefined,
});

const RULES: Readonly<Record<Exclude<keyof ClientOptions, "defaults">, OptionRule>> = {
  strictTypes: YES_OR_NO,
  poolSize: upTo(MAX_POOL_SIZE),
  queueCapacity: upTo(MAX_COUNT),
  metricsRetentionDays: upTo(MAX_RETENTION_DAYS),
  // The code that opens the store checks the ranges: only it loads the address rules.
  webhookAllow: { mustBe: "a list of addresses or ranges, such as 10.0.0.0/8", allows: Array.isArray },
  upkeep: YES_OR_NO,
  actor: { mustBe: ACTOR_RULE, allows: isActor },
  signals: {
    mustBe: `the address of your server and a secret of at least ${MIN_SECRET_LENGTH} characters: { url, secret }`,
    allows: isSignals,
    isSecret: true,
  },
  onTrouble: FUNCTION,
};

function isSignals(given: unknown): boolean {
  const { url, secret } = (given ?? {}) as { readonly url?: unknown; readonly secret?: unknown };
  return (
    typeof url === "string" &&
    /^https?:\/\//.test(url) &&
    URL.canParse(url) &&
    typeof secret === "string" &&
    secret.length >= MIN_SECRET_LENGTH
  );
}

/** Options that only a client over a store has: a client over HTTP refuses them. */
export const STORE_ONLY_OPTIONS = Object.keys(RULES).filter((name) => name !== "onTrouble") as Exclude<keyof typeof RULES, "onTrouble">[];

/**
 * Checks the options of a client. `others` are options that only the caller knows. Throws `invalid_input` at the first bad or unknown one.
 * `defaults` is read elsewhere, because that takes a clock.
 */
export function checkClientOptions(options: ClientOptions, what: string, others: readonly string[]): void {
  checkOptions(options, what, RULES, [...others, "defaults"]);
}
