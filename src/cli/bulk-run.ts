/** Bulk operations, for `bulk`, `retry-dead` and `purge-dead`: count, ask, start, and watch until the end. */
import type { BulkOperation, BulkPreview, BulkRequest, PlainClient } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import { toOperationWire } from "../http/wire/bulk.ts";
import { number, time } from "./command.ts";
import { confirm } from "./confirm.ts";
import { CommandRefused, EXIT } from "./exit-codes.ts";
import { count, counted } from "../core/counted.ts";
import { withProgress } from "./progress.ts";
import type { Session } from "./session.ts";

/** Options of every operation that retries jobs. */
export const RETRY_OPTIONS = {
  limit: number("only that many jobs, the newest created"),
  spread: time("retry them one after the other, evenly over this time (1s to 1d)"),
} as const;

export function matchedText({ matched, matchedIsCapped }: BulkPreview, one = "job"): string {
  return matchedIsCapped ? `at least ${counted(matched, one)}` : counted(matched, one);
}

/** Asks for confirmation with the number of jobs, unless `--yes` was given. */
export async function confirmMatched(
  client: PlainClient,
  request: BulkRequest,
  question: (many: string) => string,
  { yes, one }: { readonly yes: boolean; readonly one?: string },
  session: Session,
): Promise<void> {
  if (!yes) await confirm(question(matchedText(await client.bulk.preview(request), one)), session);
}

/** Starts the operation and waits for its end; a terminal shows the progress. Throws if it was stopped or failed. */
export async function runOperation(
  client: PlainClient,
  request: BulkRequest,
  { what, reason }: { readonly what: string; readonly reason: string | undefined },
  session: Session,
): Promise<BulkOperation> {
  const { output, terminal } = session;
  const { id } = await client.bulk.start(request, { reason });
  const ended = await withProgress({ output, screen: terminal.stderr, what }, untilEnd(client, id), async () => {
    const { processed, matched, matchedIsCapped } = await demandOperation(client, id);
    return { done: processed, total: matchedIsCapped ? null : matched };
  });
  if (ended.status === "completed") return ended;
  if (output.json) output.value(toOperationWire(ended));
  const done = `${counted(ended.succeeded, "job")} changed`;
  throw new CommandRefused(
    ended.status === "stopped" ? `the operation was stopped: ${done}` : `the operation failed: ${ended.error}; ${done}`,
    EXIT.failure,
  );
}

/** Prints which jobs could not be changed. The command still succeeds: somebody else changed them first. */
export function printFailures({ failed, failures }: BulkOperation, session: Session): void {
  if (failed === 0) return;
  session.output.message(`${counted(failed, "job was", "jobs were")} changed or removed meanwhile:`);
  for (const { message } of failures) session.output.message(`  ${message}`);
  if (failed > failures.length) session.output.message(`  and ${count(failed - failures.length)} more`);
}

export async function demandOperation(client: PlainClient, id: string): Promise<BulkOperation> {
  const operation = await client.bulk.get(id);
  if (operation === null) throw new CommandRefused(`there is no bulk operation ${id}`, EXIT.notFound);
  return operation;
}

async function untilEnd(client: PlainClient, id: string): Promise<BulkOperation> {
  for (;;) {
    try {
      await client.wait(id, { timeout: "1h" });
      return await demandOperation(client, id);
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== "wait_timeout") throw error;
    }
  }
}
