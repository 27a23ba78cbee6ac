/**
 * ALL SETTINGS: names, format, default and purpose of each. Flags, help texts, `.env.example` and docs/settings.md are generated from this
 * table. Only `serve` and the command line read settings; other parts take plain options.
 *
 * A flag goes before the environment, the environment before the file, the file before the default.
 */
import type { WorkOptions } from "./client/client.ts";
import type { ClientOptions } from "./core/client-options.ts";
import { JOB_OPTIONS, type JobOptions } from "./core/job-options.ts";
import { MAX_COUNT } from "./core/queue.ts";
import { MIN_SECRET_LENGTH, SECRETS_RULE, type SignalLinkOptions } from "./core/signal-links.ts";
import {
  DEFAULT_AHEAD_MS,
  DEFAULT_SETTLE_MS,
  MAX_AHEAD_MS,
  MAX_GRACE_MS,
  MAX_LEASE_MS,
  MAX_POOL_SIZE,
  MAX_RETENTION_DAYS,
  MAX_SETTLE_MS,
  MIN_LEASE_MS,
  VERSION,
  VERSION_RULE,
} from "./core/work-limits.ts";
import { concurrency, rateLimit } from "./config/kinds.ts";
import { choice, duration, type Kind, list, numeric, optional, type Setting, text, wholeNumber, yesOrNo } from "./config/setting.ts";
import { DEFAULT_STORE_URL, isStoreUrl, URL_ALIASES, URL_RULE } from "./config/store-url.ts";

/** Where a setting is used, besides the server, which uses all of them. */
interface Reach<Value> {
  /** The option of a client over a store; `defaults.timeout` is a default for jobs. */
  readonly option?: Taking<ClientOptions, Value> | `defaults.${Taking<JobOptions, Value>}`;
  /** The option of a worker. */
  readonly work?: Taking<WorkOptions, Value>;
  /** Whether `millrace worker` has it, besides those of `work`; over HTTP, some are only for the server. */
  readonly worker?: "always" | "with a store";
}

type Taking<Options, Value> = {
  [Name in keyof Options & string]: NonNullable<Value> extends NonNullable<Options[Name]> ? Name : never;
}[keyof Options & string];

// oxlint-disable-next-line no-generated-empty-object-type -- a setting that only a server uses reaches nothing else
function setting<Input, Value, const Reached extends Reach<Value> = Record<never, never>>(
  row: Omit<Setting<Input, Value>, "fallback"> & { readonly fallback: NoInfer<Value>; readonly reaches?: Reached },
): Setting<Input, Value> & { readonly reaches?: Reached } {
  return row;
}

const PRINTABLE = /^[^\u0000-\u001f\u007f]+$/;
const PUBLIC_URL = /^https?:\/\/[^\s/?#]+[^\s?#]*$/;
const ADDRESS_RULE = "a port or an address with one, such as :8080 or 0.0.0.0:8080";

/** All settings, by their name in a configuration file. */
export const SETTINGS = {
  url: setting({
    env: "MILLRACE_URL",
    flag: "url",
    group: "Store",
    kind: storeUrl(),
    fallback: DEFAULT_STORE_URL,
    aliases: URL_ALIASES,
    about:
      "The store, or the Millrace server. If it is not set, DATABASE_URL (if it is a PostgreSQL URL), then REDIS_URL, then REDIS_ADDR is used.",
  }),
  redisPassword: setting({
    env: "REDIS_PASSWORD",
    group: "Store",
    kind: optional(text("a string", "<password>", /^.+$/s)),
    fallback: null,
    secret: true,
    about: "Redis password, if the URL has none.",
  }),
  redisDb: setting({
    env: "REDIS_DB",
    flag: "redis-db",
    group: "Store",
    kind: optional(wholeNumber(0, 65_535)),
    fallback: null,
    about: "Redis database number, if the URL has none.",
    reaches: { worker: "always" },
  }),
  poolSize: setting({
    env: "POOL_SIZE",
    flag: "pool-size",
    group: "Store",
    kind: wholeNumber(1, MAX_POOL_SIZE),
    fallback: 10,
    about: "The most connections to PostgreSQL; half of them stay open.",
    reaches: { option: "poolSize", worker: "with a store" },
  }),
  port: setting({
    env: "PORT",
    flag: "port",
    group: "Server",
    kind: wholeNumber(0, 65_535),
    fallback: 8080,
    aliases: [{ env: "API_ADDR", mustBe: ADDRESS_RULE, take: (address) => splitAddress(address).port }],
    about: "The port that the server listens on; 0 picks a free one.",
  }),
  host: setting({
    env: "HOST",
    flag: "host",
    group: "Server",
    kind: text("a host name or address", "<address>", /^[A-Za-z0-9.:_-]{1,255}$/),
    fallback: "127.0.0.1",
    aliases: [{ env: "API_ADDR", mustBe: ADDRESS_RULE, take: (address) => splitAddress(address).host }],
    about:
      "The address that the server listens on. One that others can reach requires API_KEY, and DASHBOARD_PASSWORD unless the dashboard is off.",
  }),
  environment: setting({
    env: "ENVIRONMENT",
    flag: "environment",
    group: "Server",
    kind: choice("development", "production"),
    fallback: "production",
    about: "In development, the dashboard accepts user admin with password admin, on this machine only.",
  }),
  apiKey: setting({
    env: "API_KEY",
    group: "Server",
    kind: list("a comma-separated list of keys, each a secret or name:scope+scope:secret", "<keys>", /^[^\s,]+$/),
    fallback: [],
    secret: true,
    about: "API keys that the server accepts; the command line sends the first one to a server.",
  }),
  rateLimit: setting({
    env: "RATE_LIMIT",
    flag: "rate-limit",
    group: "Server",
    kind: optional(rateLimit),
    fallback: null,
    about: "How many requests one caller (an API key, or an address without one) may send to all servers on the store together.",
  }),
  trustedProxies: setting({
    env: "TRUSTED_PROXIES",
    flag: "trusted-proxies",
    group: "Server",
    kind: wholeNumber(0, 10),
    fallback: 0,
    about: "How many proxies are in front of the server: it trusts that many addresses at the end of X-Forwarded-For.",
  }),
  publicUrl: setting({
    env: "PUBLIC_URL",
    flag: "public-url",
    group: "Server",
    kind: optional(text("an address such as https://jobs.example.com, with the mount path if there is one", "<url>", PUBLIC_URL)),
    fallback: null,
    about: "Where people reach the server: links of ctx.signalUrl begin with it. A server uses its own address if it is not set.",
    reaches: { worker: "with a store" },
  }),
  signalSecret: setting({
    env: "SIGNAL_SECRET",
    group: "Server",
    kind: list(SECRETS_RULE, "<secrets>", new RegExp(`^[^\\s,]{${MIN_SECRET_LENGTH},}$`)),
    fallback: [],
    secret: true,
    about: "Signs the links of ctx.signalUrl; servers and workers need the same. Without it there are no such links.",
    reaches: { worker: "with a store" },
  }),
  workerConcurrency: setting({
    env: "WORKER_CONCURRENCY",
    flag: "concurrency",
    group: "Workers",
    kind: concurrency,
    fallback: 10,
    aliases: [{ env: "NUM_WORKERS" }],
    about: "How many jobs a worker runs at once; a range such as 2-50 grows and shrinks with the work.",
    reaches: { work: "concurrency" },
  }),
  workerShutdownTimeout: setting({
    env: "WORKER_SHUTDOWN_TIMEOUT",
    flag: "shutdown-timeout",
    group: "Workers",
    kind: duration(0, MAX_GRACE_MS),
    fallback: 30_000,
    about: "How long handlers may run after a stop; unfinished jobs are then released.",
    reaches: { work: "grace" },
  }),
  workerSettle: setting({
    env: "WORKER_SETTLE",
    flag: "settle",
    group: "Workers",
    kind: duration(0, MAX_SETTLE_MS),
    fallback: DEFAULT_SETTLE_MS,
    about: "How long a handler may take to end after its timeout or a cancel before its slot is freed.",
    reaches: { work: "settle" },
  }),
  workerAhead: setting({
    env: "WORKER_AHEAD",
    flag: "ahead",
    group: "Workers",
    kind: duration(0, MAX_AHEAD_MS),
    fallback: DEFAULT_AHEAD_MS,
    about: "How far ahead of its free slots a worker with fast handlers claims; 0 claims for free slots only.",
    reaches: { work: "ahead" },
  }),
  appVersion: setting({
    env: "APP_VERSION",
    flag: "app-version",
    group: "Workers",
    kind: optional(text(VERSION_RULE, "<version>", VERSION)),
    fallback: null,
    about: "The version of your application: shown with its workers, and kept with each error.",
    reaches: { work: "version" },
  }),
  lease: setting({
    env: "LEASE",
    flag: "lease",
    group: "Workers",
    kind: duration(MIN_LEASE_MS, MAX_LEASE_MS),
    fallback: 30_000,
    aliases: [{ env: "LOCK_TTL", inFile: "lockTtl" }],
    about: "The lease: how long a job stays with a worker that does not renew it.",
    reaches: { work: "lease" },
  }),
  jobDefaultTimeout: setting({
    env: "JOB_DEFAULT_TIMEOUT",
    flag: "job-timeout",
    group: "Jobs",
    kind: jobOption(JOB_OPTIONS.timeout, "<time>", duration(0, 1).show),
    fallback: JOB_OPTIONS.timeout.fallback,
    aliases: [{ env: "JOB_TIMEOUT" }],
    about: "Default timeout of an attempt; 0 for no limit.",
    reaches: { option: "defaults.timeout" },
  }),
  jobDefaultMaxRetries: setting({
    env: "JOB_DEFAULT_MAX_RETRIES",
    flag: "job-max-retries",
    group: "Jobs",
    kind: jobOption(JOB_OPTIONS.maxRetries, "<number>", String),
    fallback: JOB_OPTIONS.maxRetries.fallback,
    about: "How often a failed job is retried by default.",
    reaches: { option: "defaults.maxRetries" },
  }),
  jobDefaultRetryDelay: setting({
    env: "JOB_DEFAULT_RETRY_DELAY",
    flag: "job-retry-delay",
    group: "Jobs",
    kind: jobOption(JOB_OPTIONS.retryDelay, "<time>", duration(0, 1).show),
    fallback: JOB_OPTIONS.retryDelay.fallback,
    about: "Default delay before the first retry; it doubles with each retry.",
    reaches: { option: "defaults.retryDelay" },
  }),
  queueCapacity: setting({
    env: "QUEUE_CAPACITY",
    flag: "queue-capacity",
    group: "Jobs",
    kind: optional(wholeNumber(1, MAX_COUNT)),
    fallback: null,
    about:
      "The capacity of queues without one of their own: how many jobs may wait before enqueue is refused. It is stored with the queue when this process first uses it.",
    reaches: { option: "queueCapacity", worker: "always" },
  }),
  strictTypes: setting({
    env: "STRICT_TYPES",
    flag: "strict-types",
    group: "Jobs",
    kind: yesOrNo,
    fallback: false,
    about: "Whether to refuse jobs and schedules of a type that no live worker handles.",
    reaches: { option: "strictTypes" },
  }),
  webhookSecret: setting({
    env: "WEBHOOK_SECRET",
    group: "Webhooks",
    kind: list("one secret, or two separated by a comma while you replace the old one", "<secrets>", /^[^\s,]+$/),
    fallback: [],
    secret: true,
    about: "Signs webhook deliveries.",
  }),
  webhookAllow: setting({
    env: "WEBHOOK_ALLOW",
    flag: "webhook-allow",
    group: "Webhooks",
    kind: list("a comma-separated list of addresses or ranges such as 10.0.0.0/8", "<ranges>", /^[^\s,]+$/),
    fallback: [],
    about: "Private addresses that webhooks and http:request may call.",
    reaches: { option: "webhookAllow" },
  }),
  dashboardEnabled: setting({
    env: "DASHBOARD_ENABLED",
    flag: "dashboard",
    group: "Dashboard",
    kind: yesOrNo,
    fallback: true,
    about: "Whether the server serves the dashboard.",
  }),
  dashboardUsername: setting({
    env: "DASHBOARD_USERNAME",
    flag: "dashboard-username",
    group: "Dashboard",
    kind: text("a string", "<name>", PRINTABLE),
    fallback: "admin",
    about: "The dashboard user who can make changes.",
  }),
  dashboardPassword: setting({
    env: "DASHBOARD_PASSWORD",
    group: "Dashboard",
    kind: optional(text("a string", "<password>", PRINTABLE)),
    fallback: null,
    secret: true,
    about: "The password of that user. If set, the dashboard asks for name and password. Required on an address that others can reach.",
  }),
  dashboardViewerUsername: setting({
    env: "DASHBOARD_VIEWER_USERNAME",
    flag: "dashboard-viewer-username",
    group: "Dashboard",
    kind: text("a string", "<name>", PRINTABLE),
    fallback: "viewer",
    about: "The dashboard user who can only view.",
  }),
  dashboardViewerPassword: setting({
    env: "DASHBOARD_VIEWER_PASSWORD",
    group: "Dashboard",
    kind: optional(text("a string", "<password>", PRINTABLE)),
    fallback: null,
    secret: true,
    about: "The password of that user; without it there is no such user.",
  }),
  metricsRetentionDays: setting({
    env: "METRICS_RETENTION_DAYS",
    flag: "metrics-retention-days",
    group: "Observing",
    kind: wholeNumber(1, MAX_RETENTION_DAYS),
    fallback: 30,
    about: "How many days hourly counts are kept.",
    reaches: { option: "metricsRetentionDays", worker: "with a store" },
  }),
  logLevel: setting({
    env: "LOG_LEVEL",
    flag: "log-level",
    group: "Observing",
    kind: choice("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    fallback: "info",
    about: "The lowest level that is logged.",
    reaches: { worker: "always" },
  }),
} as const;

type Settings = typeof SETTINGS;
/** The name of a setting, in a configuration file and in code. */
export type SettingName = keyof Settings;
type InputOf<Row> = Row extends Setting<infer Input, infer _> ? Input : never;
type ValueOf<Row> = Row extends Setting<infer _, infer Value> ? Value : never;

/** All settings after reading. Times are milliseconds. */
export type Config = { readonly [Name in SettingName]: ValueOf<Settings[Name]> };

/** The default export of a `millrace.config.ts`: any of the settings, as values or strings. */
export type ConfigFile = { readonly [Name in SettingName]?: InFile<Name> } & {
  /** The former name of `lease`. */
  readonly lockTtl?: InFile<"lease">;
};
type InFile<Name extends SettingName> = InputOf<Settings[Name]> | (string & {}) | undefined;

/** The names of all settings, in the order of the table. */
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

type Reaching<Way extends keyof Reach<unknown>> = {
  [Name in SettingName]: Settings[Name] extends { readonly reaches?: { readonly [K in Way]: string } } ? Name : never;
}[SettingName];

function reachOf(name: SettingName): Reach<never> {
  return (SETTINGS[name] as { readonly reaches?: Reach<never> }).reaches ?? {};
}

function reaching<Way extends keyof Reach<unknown>>(way: Way): Reaching<Way>[] {
  return SETTING_NAMES.filter((name) => reachOf(name)[way] !== undefined) as Reaching<Way>[];
}

/** The settings that open a client, for any command. */
export const CLIENT_SETTINGS = ["url", "apiKey", ...reaching("option")] as const;

/** The settings of `millrace worker`. */
export const WORKER_SETTINGS = SETTING_NAMES.filter((name) => reachOf(name).work ?? reachOf(name).worker) as (
  | Reaching<"work">
  | Reaching<"worker">
)[];

/** Worker settings that need a store of its own. */
export const STORE_ONLY_SETTINGS: readonly SettingName[] = reaching("worker").filter((name) => reachOf(name).worker === "with a store");

/** The client options that settings set. */
export function clientOptions(config: Pick<Config, Reaching<"option">>): ClientOptions {
  return optionsOf("option", config);
}

/** Where links that send signals lead, and what signs them; undefined if one of both is not known. */
export function signalOptions({
  publicUrl,
  signalSecret: [secret],
}: Pick<Config, "publicUrl" | "signalSecret">): SignalLinkOptions | undefined {
  return publicUrl === null || secret === undefined ? undefined : { url: publicUrl, secret };
}

/** The worker options that settings set. */
export function workOptions(config: Pick<Config, Reaching<"work">>): WorkOptions {
  return optionsOf("work", config);
}

/** The options that settings set; a setting that is null sets none. */
function optionsOf<Way extends "option" | "work">(way: Way, config: Pick<Config, Reaching<Way>>): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const name of reaching(way)) {
    const [option, inner] = reachOf(name)[way]!.split(".") as [string, string?];
    if (config[name] === null) continue;
    options[option] = inner === undefined ? config[name] : { ...(options[option] as object), [inner]: config[name] };
  }
  return options;
}

function storeUrl(): Kind<string, string> {
  return {
    mustBe: URL_RULE,
    placeholder: "<url>",
    read: (input) => (typeof input === "string" && isStoreUrl(input) ? input : undefined),
    show: String,
  };
}

/** `:8080` sets only the port; `0.0.0.0:8080` and `[::]:8080` set both. */
function splitAddress(address: string): { host?: string; port?: string } {
  const [, v6, host, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d+)$/.exec(address) ?? [];
  if (port === undefined) return { port: address };
  const named = v6 ?? host;
  return named === "" || named === undefined ? { port } : { host: named, port };
}

/** A default for jobs, read like the job option that it sets. */
function jobOption<Input>(
  option: { readonly mustBe: string; readonly read: (input: Input) => number | undefined },
  placeholder: string,
  show: (value: number) => string,
): Kind<Input, number> {
  return { mustBe: option.mustBe, placeholder, read: (input) => option.read(numeric(input) as Input), show };
}
