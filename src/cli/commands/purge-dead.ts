import { defineCommand, toggle } from "../command.ts";
import { confirm } from "../confirm.ts";
import { countDead, progressOf } from "../dead-letters.ts";
import { count, counted } from "../figures.ts";
import { filterOf, JOB_FILTER } from "../job-filter.ts";
import { withProgress } from "../progress.ts";

/** Deletes dead letters for good. */
export const purgeDead = defineCommand({
  about: "Deletes all dead letters that match, for good; without a filter, all of them. Asks first, unless --yes says that it shall not.",
  examples: ["millrace purge-dead --yes", "millrace purge-dead --queue mail --to 30d"],
  options: { ...JOB_FILTER, yes: toggle("do not ask") },
  run: (input, session) =>
    session.withClient(async (client) => {
      const { output, terminal } = session;
      const filter = filterOf(input);
      if (!input.yes) {
        const found = await countDead(client, filter);
        const many = found.isMore ? `more than ${count(found.count)} dead jobs` : counted(found.count, "dead job");
        await confirm(`Delete ${many} for good?`, input.yes, session);
      }
      const purged = await withProgress(
        { output, screen: terminal.stderr, what: "purging" },
        () => client.dead.purge(filter),
        () => progressOf(client, filter),
      );
      if (output.json) output.value({ message: `Purged ${purged} dead jobs`, purged });
      else output.line(`purged ${counted(purged, "dead job")}`);
    }),
});
