import { defineCommand } from "../command.ts";
import { progressOf } from "../dead-letters.ts";
import { counted } from "../figures.ts";
import { filterOf, JOB_FILTER } from "../job-filter.ts";
import { withProgress } from "../progress.ts";

/** Gives dead letters a new life. */
export const retryDead = defineCommand({
  about: "Gives all dead letters that match a new life; without a filter, all of them.",
  examples: ["millrace retry-dead", "millrace retry-dead --type email:send --from 1h"],
  options: JOB_FILTER,
  run: (input, session) =>
    session.withClient(async (client) => {
      const { output, terminal } = session;
      const filter = filterOf(input);
      const retried = await withProgress(
        { output, screen: terminal.stderr, what: "retrying" },
        () => client.dead.retry(filter),
        () => progressOf(client, filter),
      );
      if (output.json) output.value({ message: `Retried ${retried} dead jobs`, retried });
      else output.line(`retried ${counted(retried, "dead job")}`);
    }),
});
