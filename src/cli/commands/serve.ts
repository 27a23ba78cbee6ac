/** `start` and `server`: a server that runs until a signal stops it, with or without your handlers. */
import { typesOf } from "../../client/handler-types.ts";
import { type Config, SETTING_NAMES } from "../../config.ts";
import { serve } from "../../serve.ts";
import { stopOnSignals } from "../../worker/stop-on-signals.ts";
import { defineCommand } from "../command.ts";
import { type ExampleJob, HANDLERS, type HandlersModule, loadHandlers } from "../handlers-module.ts";
import type { Session } from "../session.ts";
import { packageVersion } from "../version.ts";

export const start = defineCommand({
  about:
    "Serves the HTTP API and runs jobs in one process until SIGTERM or Ctrl-C. It then takes no more jobs, lets handlers finish, and releases unfinished jobs. A second signal stops it at once.",
  examples: ["millrace start --handlers ./jobs.ts", "millrace start --handlers ./jobs.ts --url postgres://localhost/app --concurrency 20"],
  options: { handlers: HANDLERS },
  settings: SETTING_NAMES,
  async run(input, session) {
    if (input.handlers === undefined) return serveUntilSignal(session);
    const { handlers, backoffs, example } = await loadHandlers(input.handlers, session.terminal.cwd);
    const types = typesOf(handlers);
    const others = types.includes("*") ? "" : "; jobs of other types wait for a worker that handles them";
    session.output.message(`millrace: running jobs of type ${types.join(", ")}${others}`);
    return serveUntilSignal(session, { handlers, backoffs, example: example ?? { type: types[0]! } });
  },
});

export const server = defineCommand({
  about:
    "Serves the HTTP API, sends webhooks and runs http:request jobs, until SIGTERM or Ctrl-C. Your own jobs need a worker: use `millrace worker`, or `millrace start` for both in one process.",
  examples: ["millrace server --port 8080", "millrace server --url redis://localhost --host 0.0.0.0"],
  settings: SETTING_NAMES,
  run: (_input, session) => serveUntilSignal(session),
});

/** Never returns: a signal ends the process with 0, a second signal with 1. */
async function serveUntilSignal(session: Session, { handlers, backoffs, example }: Partial<HandlersModule> = {}): Promise<never> {
  const { config } = await session.settings(...SETTING_NAMES);
  const store = await session.storeName();
  const served = await serve(config, { version: packageVersion(), handlers, backoffs });
  stopOnSignals(served);
  session.announceStop(config.workerShutdownTimeout);
  session.output.message(`millrace: serving ${store}`);
  if (served.dashboardUrl !== null) session.output.message(`millrace: dashboard on ${served.dashboardUrl}`);
  session.output.message(`millrace: API on ${served.url}/api/v1, its reference on ${served.url}/docs`);
  if (config.signalSecret.length > 0) session.output.message(`millrace: links of ctx.signalUrl lead to ${linksLeadTo(config, served.url)}`);
  // With API keys the line would need one, and we never print a key.
  if (example && config.apiKey.length === 0) session.output.message(`millrace: try it: ${curlLine(served.url, example)}`);
  return new Promise<never>(() => {});
}

/** Its own address is of no use to people elsewhere, and nobody would notice before one of them opens a link. */
function linksLeadTo({ publicUrl }: Pick<Config, "publicUrl">, own: string): string {
  return publicUrl ?? `${own}: set PUBLIC_URL if people reach the server at another address`;
}

/** A command that you can paste as it is printed. */
function curlLine(url: string, example: ExampleJob): string {
  const body = JSON.stringify(example).replaceAll("'", "'\\''");
  return `curl ${url}/api/v1/jobs -H 'Content-Type: application/json' -d '${body}'`;
}
