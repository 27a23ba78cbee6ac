/** What `start` and `server` have in common: a server until a signal ends it. */
import type { Handlers } from "../client/client.ts";
import { formatDuration } from "../core/duration.ts";
import { serve } from "../serve.ts";
import { stopOnSignals } from "../worker/stop-on-signals.ts";
import type { Session } from "./session.ts";
import { packageVersion } from "./version.ts";

/** The settings that a server goes by. */
export const SERVER_SETTINGS = [
  "url",
  "poolSize",
  "port",
  "host",
  "apiKey",
  "rateLimit",
  "workerConcurrency",
  "workerShutdownTimeout",
  "lockTtl",
  "jobDefaultTimeout",
  "jobDefaultMaxRetries",
  "jobDefaultRetryDelay",
  "webhookSecret",
  "webhookAllow",
  "logLevel",
] as const;

/** Serves until a signal comes, and then never returns: the process ends with 0, or with 1 at a second signal. */
export async function serveUntilSignal(session: Session, handlers?: Handlers): Promise<never> {
  const { config } = await session.settings(...SERVER_SETTINGS);
  const store = await session.storeName();
  const served = await serve(config, { version: packageVersion(), handlers });
  const grace = formatDuration(config.workerShutdownTimeout);
  stopOnSignals(served);
  const tell = (): void => session.output.talk(`millrace: stopping; what runs has ${grace} to finish, and a second signal ends at once`);
  process.once("SIGTERM", tell).once("SIGINT", tell);
  session.output.talk(`millrace: serving ${store}`);
  session.output.talk(`millrace: API on ${served.url}/api/v1, its reference on ${served.url}/docs`);
  return new Promise<never>(() => {});
}
