import { SETTING_NAMES } from "../../config.ts";
import { typesOf } from "../../client/handler-types.ts";
import { defineCommand, text } from "../command.ts";
import { loadExample, loadHandlers } from "../handlers-module.ts";
import { serveUntilSignal } from "../serving.ts";

/** Everything in one process. */
export const start = defineCommand({
  about:
    "Serves the HTTP API and runs jobs, in one process, until it is told to stop by SIGTERM or Ctrl-C: then it takes nothing new, lets handlers finish, and gives back what is left. A second signal ends it at once.",
  examples: ["millrace start --handlers ./jobs.ts", "millrace start --handlers ./jobs.ts --url postgres://localhost/app --concurrency 20"],
  options: {
    handlers: text("<file>", "a module that exports by default what client.work takes: type and handler"),
  },
  settings: SETTING_NAMES,
  async run(input, session) {
    if (input.handlers === undefined) return serveUntilSignal(session);
    const handlers = await loadHandlers(input.handlers, session.terminal.cwd);
    const types = typesOf(handlers);
    const others = types.includes("*") ? "" : "; jobs of other types wait until a worker for them runs";
    session.output.talk(`millrace: running jobs of type ${types.join(", ")}${others}`);
    return serveUntilSignal(session, { handlers, example: await loadExample(input.handlers, session.terminal.cwd) });
  },
});
