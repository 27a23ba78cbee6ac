import type { EnqueuedJob, PlainClient } from "../../client/client.ts";
import { type CoalesceOptions, KEEPS, WHILE_RUNNING } from "../../core/coalesce.ts";
import type { Duration } from "../../core/duration.ts";
import type { JsonText } from "../../core/json-text.ts";
import { toEnqueuedWire } from "../../http/wire/job.ts";
import { checkPayload } from "../check-payload.ts";
import { defineCommand, optional, text, time, toggle } from "../command.ts";
import { CommandRefused, EXIT, type ExitCode } from "../exit-codes.ts";
import { JOB_INPUT, readJobInput, readJson } from "../job-input.ts";
import { showJob } from "../job-view.ts";
import type { Session } from "../session.ts";

export const enqueue = defineCommand({
  about: "Adds a job and prints its id. With --wait, waits until the job has ended and prints the job.",
  examples: [
    `millrace enqueue --type email:send --payload '{"to":"ann@example.com"}'`,
    "millrace enqueue report:make @report.json --delay 5m --priority low",
    "millrace enqueue --type charge --payload '{\"order\":42}' --key order-42 --wait",
  ],
  arguments: {
    kind: optional("type", "the type of the job, instead of --type"),
    content: optional("payload", "the payload, instead of --payload"),
  },
  options: {
    type: text("<type>", "the type of the job, which selects its handler"),
    payload: text("<json>", "any JSON; @file reads a file, - reads stdin (default: null)"),
    ...JOB_INPUT,
    delay: time("how long to wait before it starts: 30s, 5m, 2h, 1d"),
    runAt: text("<time>", "when to start it: 2026-03-01T10:00:00Z"),
    startWithin: time("ends the job, cancelled, if it has not started so long after it was due"),
    coalesce: text("<key>", "merges this job into the one of the same key that waits, so that one of many is enough"),
    quietFor: time("with --coalesce: starts when nothing was enqueued for so long (debounce)"),
    longest: time("with --quiet-for: the longest wait from the first call on (default: 10 times as long)"),
    every: time("with --coalesce: one start in this time (throttle)"),
    keep: text("<which>", "with --coalesce: whether the job that waits gets the new payload: last (default) or first", KEEPS),
    whileRunning: text("<what>", "with --coalesce, once the job runs: again (default), skip or cancel", WHILE_RUNNING),
    key: { ...text("<key>", "idempotency key: a second enqueue with the same key returns the same job"), field: "idempotencyKey" },
    keyTtl: time("how long the key is kept after the job completed or was cancelled"),
    wait: toggle("wait until the job has ended; exits with 8 if it did not complete"),
    waitTimeout: { ...time("how long to wait with --wait (default: 30s)"), field: "timeout" },
  },
  async run(input, session) {
    const type = input.type ?? input.kind;
    if (type === undefined) throw new CommandRefused("--type is required");
    const given = input.payload ?? input.content;
    const payload = given === undefined ? null : await readJson(given, "--payload", session);
    const { delay, runAt, startWithin, key: idempotencyKey, keyTtl } = input;
    const own = { delay, runAt: millisOr(runAt), startWithin, idempotencyKey, keyTtl, coalesce: readCoalesceInput(input) };
    const options = { ...(await readJobInput(input, session)), ...own };
    return session.withClient(async (client) => {
      await checkPayload(client, { queue: options.queue, type }, payload, session);
      const job = await client.enqueue(type, payload, options);
      if (input.wait) return waitFor(client, job, input.waitTimeout, session);
      print(job, payload, session);
      return EXIT.ok;
    });
  },
});

type CoalesceInput = { readonly [Name in "coalesce" | "keep" | "whileRunning"]?: string | undefined } & {
  readonly [Name in "quietFor" | "longest" | "every"]?: Duration | undefined;
};

/** The options of --coalesce belong together. */
function readCoalesceInput(input: CoalesceInput): CoalesceOptions | undefined {
  const { coalesce: key, quietFor: quiet, longest, every, keep, whileRunning } = input;
  const others = { "quiet-for": quiet, longest, every, keep, "while-running": whileRunning };
  if (key !== undefined) return { key, quiet, longest, every, keep, whileRunning } as CoalesceOptions;
  const alone = Object.entries(others).find(([, value]) => value !== undefined);
  if (alone !== undefined) throw new CommandRefused(`--${alone[0]} needs --coalesce KEY`);
  return undefined;
}

function millisOr(given: string | undefined): string | number | undefined {
  return given !== undefined && /^\d+$/.test(given) ? Number(given) : given;
}

function print(job: EnqueuedJob, sent: JsonText | null, { output }: Session): void {
  const wire = toEnqueuedWire(job);
  if (output.json) return output.value({ ...wire, ...(job.created ? { payload: sent } : {}), created: job.created });
  output.line(job.id);
  if (job.outcome === "merged") output.message("the job with this coalescing key has the new payload now");
  else if (job.outcome === "skipped") output.message(`there is a job with this coalescing key; it is ${job.status}, and stays as it is`);
  else if (!job.created) output.message(`this is an existing job with the same key; it is ${job.status}`);
}

async function waitFor(
  client: PlainClient,
  { id, created }: EnqueuedJob,
  timeout: Duration | undefined,
  session: Session,
): Promise<ExitCode> {
  const signal = session.interrupted();
  session.output.message(created ? `enqueued ${id}, waiting until it ends` : `${id} has the same key, waiting until it ends`);
  const { status } = await client.wait(id, { timeout, signal });
  await showJob(client, id, session);
  return status === "completed" ? EXIT.ok : EXIT.jobFailed;
}
