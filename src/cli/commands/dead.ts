/** `retry-dead` and `purge-dead`: one bulk operation on all dead letters that match. */
import type { BulkRequest } from "../../client/client.ts";
import { confirmMatched, RETRY_OPTIONS, runOperation, printFailures } from "../bulk-run.ts";
import { defineCommand, reason, toggle } from "../command.ts";
import { counted } from "../../core/counted.ts";
import { filterOf, JOB_FILTER } from "../job-filter.ts";
import type { Session } from "../session.ts";

export const retryDead = defineCommand({
  about: "Retries all dead letters that match; without a filter, all of them. The operation continues even if you interrupt the command.",
  examples: [
    "millrace retry-dead",
    "millrace retry-dead --type email:send --from 1h",
    "millrace retry-dead --group 3f9c2a71b0de --spread 10m",
  ],
  options: { ...JOB_FILTER, ...RETRY_OPTIONS, reason },
  run: (input, session) => changeDead("retry", input, true, session),
});

export const purgeDead = defineCommand({
  about: "Deletes all dead letters that match, for good; without a filter, all of them. Asks first, unless you pass --yes.",
  examples: ["millrace purge-dead --yes", "millrace purge-dead --queue mail --to 30d"],
  options: { ...JOB_FILTER, yes: toggle("do not ask"), reason },
  run: (input, session) => changeDead("delete", input, input.yes, session),
});

const WORDS = { retry: { doing: "retrying", done: "retried" }, delete: { doing: "purging", done: "purged" } } as const;

type DeadInput = Parameters<typeof filterOf>[0] & { readonly reason: string | undefined } & Pick<BulkRequest, "limit" | "spread">;

function changeDead(action: keyof typeof WORDS, input: DeadInput, yes: boolean, session: Session): Promise<void> {
  return session.withClient(async (client) => {
    const { output } = session;
    const { doing, done } = WORDS[action];
    const request: BulkRequest = { action, filter: { ...filterOf(input), status: "dead" }, limit: input.limit, spread: input.spread };
    await confirmMatched(client, request, (many) => `Delete ${many} for good?`, { yes, one: "dead job" }, session);
    const operation = await runOperation(client, request, { what: doing, reason: input.reason }, session);
    const changed = operation.succeeded;
    if (output.json) {
      return output.value({ message: `${done.charAt(0).toUpperCase()}${done.slice(1)} ${counted(changed, "dead job")}`, [done]: changed });
    }
    output.line(`${done} ${counted(changed, "dead job")}`);
    printFailures(operation, session);
  });
}
