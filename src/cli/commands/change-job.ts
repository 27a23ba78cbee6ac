/** `cancel` and `retry`: the same change for several jobs. If one cannot be changed, the others still are. */
import type { PlainClient } from "../../client/client.ts";
import type { JobSummary } from "../../core/job.ts";
import { toSummaryWire } from "../../http/wire/job.ts";
import { checkPayload } from "../check-payload.ts";
import { defineCommand, reason, several, text, toggle } from "../command.ts";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { failureOf } from "../failure.ts";
import { readJson } from "../job-input.ts";
import type { Session } from "../session.ts";

const ids = several("id", "the id of a job; you can give several");

export const cancel = defineCommand({
  about:
    "Cancels waiting and running jobs. The signal of a running handler aborts, wherever it runs. Cancelling a cancelled job succeeds; a job that has otherwise ended is refused (exit code 5).",
  examples: [
    "millrace cancel 0199f3c2-7b5e-7000-8000-0123456789ab",
    "millrace list --status pending --type report --ids | xargs millrace cancel",
  ],
  arguments: { ids },
  options: { reason },
  run: (input, session) => changeEach(input.ids, session, "cancelled", (client, id) => client.cancel(id, { reason: input.reason })),
});

export const retry = defineCommand({
  about:
    "Retries dead, failed or cancelled jobs; their retries count from 0 again. With --now, also starts scheduled or retrying jobs at once. With --payload, the job runs with that payload. A job with steps goes on where it died; with --restart, it begins from the start.",
  examples: [
    "millrace retry 0199f3c2-7b5e-7000-8000-0123456789ab",
    "millrace retry 0199f3c2-7b5e-7000-8000-0123456789ab --now",
    `millrace retry 0199f3c2-7b5e-7000-8000-0123456789ab --payload '{"to":"ann@example.com"}'`,
  ],
  arguments: { ids },
  options: {
    now: toggle("also start a scheduled or retrying job at once"),
    restart: toggle("forget the steps of the job, so that it begins from the start"),
    payload: text("<json>", "replace the payload by this JSON; @file reads a file, - reads stdin"),
    reason,
  },
  async run({ ids: jobs, now, restart, payload: given, reason: why }, session) {
    const payload = given === undefined ? undefined : await readJson(given, "--payload", session);
    return changeEach(jobs, session, "retried", async (client, id) => {
      const job = payload === undefined ? null : await client.get(id);
      if (job !== null) await checkPayload(client, job, payload, session);
      return client.retry(id, { now, restart, payload, reason: why });
    });
  },
});

/** Changes each job in turn and prints it. The exit code is that of the first failure. */
async function changeEach(
  jobs: readonly string[],
  session: Session,
  done: string,
  change: (client: PlainClient, id: string) => Promise<JobSummary>,
): Promise<ExitCode> {
  const { output } = session;
  let code: ExitCode = EXIT.ok;
  await session.withClient(async (client) => {
    for (const id of jobs) {
      try {
        const job = await change(client, id);
        if (output.json) output.value(toSummaryWire(job));
        else output.message(`${done} ${job.id}: it is ${job.status}`);
      } catch (error) {
        output.fail(failureOf(error));
        if (code === EXIT.ok) code = exitCodeOf(error);
      }
    }
  });
  return code;
}
