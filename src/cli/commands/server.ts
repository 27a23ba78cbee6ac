import { SETTING_NAMES } from "../../config.ts";
import { defineCommand } from "../command.ts";
import { serveUntilSignal } from "../serving.ts";

/** Serves the API without working jobs of the user's own. */
export const server = defineCommand({
  about:
    "Serves the HTTP API, and sends webhooks and http:request jobs, until it is told to stop by SIGTERM or Ctrl-C. Jobs of your own run in workers: `millrace worker`, or `millrace start` for both in one process.",
  examples: ["millrace server --port 8080", "millrace server --url redis://localhost --host 0.0.0.0"],
  settings: SETTING_NAMES,
  run: (_input, session) => serveUntilSignal(session),
});
