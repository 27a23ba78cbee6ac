import type { BulkRequest } from "../../client/client.ts";
import { runOperation, tellFailures } from "../bulk-run.ts";
import { defineCommand } from "../command.ts";
import { counted } from "../figures.ts";
import { filterOf, JOB_FILTER } from "../job-filter.ts";

/** Gives dead letters a new life. */
export const retryDead = defineCommand({
  about:
    "Gives all dead letters that match a new life; without a filter, all of them. Once begun it goes on, also where it was interrupted.",
  examples: ["millrace retry-dead", "millrace retry-dead --type email:send --from 1h", "millrace retry-dead --group 3f9c2a71b0de"],
  options: JOB_FILTER,
  run: (input, session) =>
    session.withClient(async (client) => {
      const { output } = session;
      const request: BulkRequest = { action: "retry", filter: { ...filterOf(input), status: "dead" } };
      const operation = await runOperation(client, request, "retrying", session);
      const retried = operation.succeeded;
      if (output.json) return output.value({ message: `Retried ${retried} dead jobs`, retried });
      output.line(`retried ${counted(retried, "dead job")}`);
      tellFailures(operation, session);
    }),
});
