/** The same change for several jobs: one that cannot be changed does not keep the others from it. */
import type { Client } from "../client/client.ts";
import type { JobSummary } from "../core/job.ts";
import { toSummaryWire } from "../http/wire/job.ts";
import { EXIT, type ExitCode, exitCodeOf } from "./exit-codes.ts";
import { failureOf } from "./failure.ts";
import type { Session } from "./session.ts";

/** Changes each job in turn and tells of it. The exit code is that of the first that failed. */
export async function changeEach(
  ids: readonly string[],
  session: Session,
  done: string,
  change: (client: Client, id: string) => Promise<JobSummary>,
): Promise<ExitCode> {
  const { output } = session;
  let code: ExitCode = EXIT.ok;
  await session.withClient(async (client) => {
    for (const id of ids) {
      try {
        const job = await change(client, id);
        if (output.json) output.value(toSummaryWire(job));
        else output.talk(`${done} ${job.id}: it is ${job.status}`);
      } catch (error) {
        output.fail(failureOf(error));
        if (code === EXIT.ok) code = exitCodeOf(error);
      }
    }
  });
  return code;
}
