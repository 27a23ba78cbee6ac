import { defineCommand, several, toggle } from "../command.ts";
import { changeEach } from "../each-job.ts";

/** Gives jobs a new life. */
export const retry = defineCommand({
  about:
    "Gives a dead, failed or cancelled job a new life: its retries start again. With --now a scheduled or retrying one starts at once, too.",
  examples: ["millrace retry 0199f3c2-7b5e-7000-8000-0123456789ab", "millrace retry 0199f3c2-7b5e-7000-8000-0123456789ab --now"],
  arguments: { ids: several("id", "the id of a job; several may be given") },
  options: { now: toggle("also start a scheduled or retrying job at once") },
  run: ({ ids, now }, session) => changeEach(ids, session, "retried", (client, id) => client.retry(id, { now })),
});
