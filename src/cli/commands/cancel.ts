import { defineCommand, several } from "../command.ts";
import { changeEach } from "../each-job.ts";

/** Ends jobs that wait or run. */
export const cancel = defineCommand({
  about:
    "Ends a job that waits or runs. The signal of a running handler aborts, wherever it runs. A job that is cancelled already is a success; one that ended otherwise is refused (exit code 5).",
  examples: [
    "millrace cancel 0199f3c2-7b5e-7000-8000-0123456789ab",
    "millrace list --status pending --type report --ids | xargs millrace cancel",
  ],
  arguments: { ids: several("id", "the id of a job; several may be given") },
  run: ({ ids }, session) => changeEach(ids, session, "cancelled", (client, id) => client.cancel(id)),
});
