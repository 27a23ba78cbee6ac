import type { BulkRequest } from "../../client/client.ts";
import { confirmMatched, runOperation, tellFailures } from "../bulk-run.ts";
import { defineCommand, toggle } from "../command.ts";
import { counted } from "../figures.ts";
import { filterOf, JOB_FILTER } from "../job-filter.ts";

/** Deletes dead letters for good. */
export const purgeDead = defineCommand({
  about: "Deletes all dead letters that match, for good; without a filter, all of them. Asks first, unless --yes says that it shall not.",
  examples: ["millrace purge-dead --yes", "millrace purge-dead --queue mail --to 30d"],
  options: { ...JOB_FILTER, yes: toggle("do not ask") },
  run: (input, session) =>
    session.withClient(async (client) => {
      const { output } = session;
      const request: BulkRequest = { action: "delete", filter: { ...filterOf(input), status: "dead" } };
      await confirmMatched(client, request, (many) => `Delete ${many} for good?`, { yes: input.yes, one: "dead job" }, session);
      const operation = await runOperation(client, request, "purging", session);
      const purged = operation.succeeded;
      if (output.json) return output.value({ message: `Purged ${purged} dead jobs`, purged });
      output.line(`purged ${counted(purged, "dead job")}`);
      tellFailures(operation, session);
    }),
});
