import type { CLIENT_SETTINGS, Config } from "../config.ts";
import type { JobOptions } from "../core/job-options.ts";

/** What settings say to whoever opens a store: options of `connect`. */
interface SettledOptions {
  readonly poolSize: number;
  readonly defaults: JobOptions;
  readonly strictTypes: boolean;
  readonly metricsRetentionDays: number;
  readonly webhookAllow: readonly string[];
  readonly queueCapacity?: number;
}

/** The one road from settings to a client: a setting that is missing here reaches nobody. */
export function storeOptions(config: Pick<Config, (typeof CLIENT_SETTINGS)[number]>): SettledOptions {
  const { jobDefaultTimeout: timeout, jobDefaultMaxRetries: maxRetries, jobDefaultRetryDelay: retryDelay } = config;
  const { poolSize, strictTypes, queueCapacity, metricsRetentionDays, webhookAllow } = config;
  return {
    poolSize,
    defaults: { timeout, maxRetries, retryDelay },
    strictTypes,
    metricsRetentionDays,
    webhookAllow,
    ...(queueCapacity === null ? {} : { queueCapacity }),
  };
}
