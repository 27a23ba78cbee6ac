import { defineCommand, several } from "../command.ts";
import { showJob } from "../job-view.ts";

export const status = defineCommand({
  about: "Shows a job: its fields, payload, result or error, its steps, every attempt, who changed it by hand, and the end of its log.",
  examples: [
    "millrace status 0199f3c2-7b5e-7000-8000-0123456789ab",
    "millrace status 0199f3c2-7b5e-7000-8000-0123456789ab --json | jq .result",
  ],
  arguments: { ids: several("id", "the id of a job; you can give several") },
  run: ({ ids }, session) =>
    session.withClient(async (client) => {
      for (const id of ids) await showJob(client, id, session);
    }),
});
