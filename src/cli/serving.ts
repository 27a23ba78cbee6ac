/** What `start` and `server` have in common: a server until a signal ends it. */
import type { Handlers } from "../client/client.ts";
import { SETTING_NAMES } from "../config.ts";
import { formatDuration } from "../core/duration.ts";
import { serve } from "../serve.ts";
import { stopOnSignals } from "../worker/stop-on-signals.ts";
import type { ExampleJob } from "./handlers-module.ts";
import type { Session } from "./session.ts";
import { packageVersion } from "./version.ts";

/** Jobs that the server runs itself, and one to try it with. */
export interface ServedJobs {
  readonly handlers?: Handlers | undefined;
  readonly example?: ExampleJob | undefined;
}

/** Serves until a signal comes, and then never returns: the process ends with 0, or with 1 at a second signal. */
export async function serveUntilSignal(session: Session, { handlers, example }: ServedJobs = {}): Promise<never> {
  const { config } = await session.settings(...SETTING_NAMES);
  const store = await session.storeName();
  const served = await serve(config, { version: packageVersion(), handlers });
  const grace = formatDuration(config.workerShutdownTimeout);
  stopOnSignals(served);
  const tell = (): void => session.output.talk(`millrace: stopping; what runs has ${grace} to finish, and a second signal ends at once`);
  process.once("SIGTERM", tell).once("SIGINT", tell);
  session.output.talk(`millrace: serving ${store}`);
  if (served.dashboardUrl !== null) session.output.talk(`millrace: dashboard on ${served.dashboardUrl}`);
  session.output.talk(`millrace: API on ${served.url}/api/v1, its reference on ${served.url}/docs`);
  // Who has made keys knows how to call, and a key is nothing to print.
  if (example !== undefined && config.apiKey.length === 0) session.output.talk(`millrace: try it: ${curlLine(served.url, example)}`);
  return new Promise<never>(() => {});
}

/** A line that works as it is printed. */
function curlLine(url: string, example: ExampleJob): string {
  const body = JSON.stringify(example).replaceAll("'", "'\\''");
  return `curl ${url}/api/v1/jobs -H 'Content-Type: application/json' -d '${body}'`;
}
