/** Jobs: enqueue, read and change them. */
import type { Client, EnqueuedJob, EnqueueOptions, EnqueueResult } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import { isTerminal, type Job } from "../../core/job.ts";
import { stringifyJson } from "../../core/json-text.ts";
import type { ChangeOptions } from "../../core/manual-change.ts";
import { MAX_BATCH } from "../../core/work-limits.ts";
import { inputCheck, namesOf } from "../check-input.ts";
import { type jobRoutes, MAX_SHOWN_CONFLICTS } from "../contract/jobs.ts";
import { NewJob, type NewJobWire } from "../contract/schemas.ts";
import type { AnswerFrom } from "../contract.ts";
import { KeyTaken, toProblem, WireError } from "../problem.ts";
import { changeOptionsOf, type Handlers, ok, readWait, type RouteInput, type RouteParts } from "../route-input.ts";
import { fromFilterWire } from "../wire/bulk.ts";
import { toAttemptWire, toJobWire, toLogLineWire, toManualChangeWire, toSummaryWire } from "../wire/job.ts";
import { enqueuedText, jobText, written } from "../wire/job-text.ts";
import { toReasonWire } from "../wire/reason.ts";
import { readPage } from "./job-page.ts";
import { prefersMinimal, readNewJob } from "./new-job.ts";

type BatchResult = AnswerFrom<"POST /api/v1/jobs/batch">["results"][number];

const REPLAYED = { "Idempotent-Replayed": "true" };
const checkNewJob = inputCheck(namesOf(NewJob));

export function jobHandlers({ client, handledTypes, payloadCheck }: RouteParts): Handlers<keyof typeof jobRoutes> {
  return {
    async "POST /api/v1/jobs"({ body, call }) {
      const { payload, options } = readNewJob(body, call.header("idempotency-key"));
      const checked = payloadCheck.check(body, payload);
      if (checked !== undefined) await checked;
      const job = await enqueueOne(client, body.type, payload, options);
      const looking = job.created ? handledTypes?.noticeOf(job) : undefined;
      const notice = looking === undefined ? undefined : await looking;
      const wire = written(enqueuedText(job, payload, prefersMinimal(call.header("prefer")), notice));
      // Relative to this route, so that it is right under any mount path.
      return job.created
        ? { status: 201, body: wire, headers: { Location: `jobs/${job.id}` } }
        : { status: 200, body: wire, ...(job.outcome === undefined ? { headers: REPLAYED } : {}) };
    },

    async "POST /api/v1/jobs/batch"({ body, call, requestId }) {
      if (body.jobs.length > MAX_BATCH) {
        throw new WireError("body_too_large", `a batch may have at most ${MAX_BATCH} jobs; got ${body.jobs.length}`, { field: "jobs" });
      }
      return ok(
        written(await enqueueBatch({ client, handledTypes, payloadCheck }, body.jobs, prefersMinimal(call.header("prefer")), requestId)),
      );
    },

    async "GET /api/v1/jobs"({ query }) {
      return ok(await readPage(client, (list) => client.list(list), query));
    },

    async "GET /api/v1/facets/{field}"({ params: { field }, query }) {
      const { values, without, isCapped, hasMore } = await client.facets(field, fromFilterWire(query));
      return ok({ values: [...values], without, is_capped: isCapped, has_more: hasMore });
    },

    async "GET /api/v1/jobs/{id}"(input) {
      return ok(written(jobText(await getOrWait(client, input))));
    },

    async "DELETE /api/v1/jobs/{id}"(input) {
      const { id } = input.params;
      if (input.query.purge === true) return ok(await purge(client, id, changeOptionsOf(input)));
      const { status } = await client.cancel(id, changeOptionsOf(input));
      return ok({ message: "Job cancelled", job_id: id, status });
    },

    async "POST /api/v1/jobs/{id}/cancel"(input) {
      const { id } = input.params;
      const job = await client.cancel(id, changeOptionsOf(input));
      return ok({ message: "Job cancelled", job_id: id, status: job.status, job: toSummaryWire(job) });
    },

    async "POST /api/v1/jobs/{id}/retry"(input) {
      const { id } = input.params;
      const payload = input.body?.payload;
      if (payload !== undefined) await payloadCheck.check(await requireJob(client, id), payload);
      const job = await client.retry(id, { now: input.query.now, restart: input.query.restart, payload, ...changeOptionsOf(input) });
      return ok({ message: "Job re-enqueued", job_id: id, status: job.status, job: toSummaryWire(job) });
    },

    async "GET /api/v1/jobs/{id}/explain"({ params: { id } }) {
      return ok({ reasons: (await client.explain(id)).reasons.map(toReasonWire) });
    },

    async "GET /api/v1/jobs/{id}/attempts"({ params: { id } }) {
      const attempts = await client.attempts(id);
      if (attempts.length === 0) await requireJob(client, id);
      return ok({ attempts: attempts.map(toAttemptWire) });
    },

    async "GET /api/v1/jobs/{id}/changes"({ params: { id } }) {
      const changes = await client.changes(id);
      if (changes.length === 0) await requireJob(client, id);
      return ok({ changes: changes.map(toManualChangeWire) });
    },

    async "GET /api/v1/jobs/{id}/logs"({ params: { id }, query }) {
      const lines = await client.logs(id, query);
      if (lines.length === 0) await requireJob(client, id);
      return ok({ lines: lines.map(toLogLineWire) });
    },
  };
}

/** Enqueues a job. A key conflict comes with the job that has the key. */
export async function enqueueOne(client: Client, type: string, payload: unknown, options: EnqueueOptions): Promise<EnqueuedJob> {
  try {
    return await client.enqueue(type, payload, options);
  } catch (error) {
    throw await withOtherJob(client, error);
  }
}

/** Adds the other job to a key conflict, if it can be read. */
async function withOtherJob(client: Client, error: unknown): Promise<unknown> {
  if (!(error instanceof MillraceError) || error.code !== "key_conflict" || error.jobId === undefined) return error;
  try {
    const other = await client.get(error.jobId);
    return other === null ? error : new KeyTaken(error, toJobWire(other));
  } catch {
    // The conflict matters; that job is extra.
    return error;
  }
}

/** Checks each job by itself: a refused one does not affect the others. Returns the JSON text of all results. */
async function enqueueBatch(
  { client, handledTypes, payloadCheck }: Pick<RouteParts, "client" | "handledTypes" | "payloadCheck">,
  jobs: readonly unknown[],
  minimal: boolean,
  requestId: string,
): Promise<string> {
  const results: string[] = [];
  const refuse = (index: number, error: unknown): void => {
    const { status, body } = toProblem(error, requestId);
    results[index] = stringifyJson({ status, error: body } satisfies BatchResult);
  };
  const sound: { readonly index: number; readonly input: Parameters<Client["enqueueMany"]>[0][number] }[] = [];
  for (const [index, job] of jobs.entries()) {
    try {
      checkNewJob(job);
      const { payload, options } = readNewJob(job as NewJobWire, null);
      const checked = payloadCheck.check(job as NewJobWire, payload);
      if (checked !== undefined) await checked;
      sound.push({ index, input: { ...options, type: (job as NewJobWire).type, payload } });
    } catch (error) {
      refuse(index, error);
    }
  }
  const answers = await client.enqueueMany(sound.map(({ input }) => input));
  let conflicts = 0;
  const finish = async (answer: EnqueueResult, at: number): Promise<void> => {
    const { index, input } = sound[at]!;
    if (!answer.ok) {
      const isShown = answer.error.code === "key_conflict" && ++conflicts <= MAX_SHOWN_CONFLICTS;
      return refuse(index, isShown ? await withOtherJob(client, answer.error) : answer.error);
    }
    const { job } = answer;
    const notice = job.created ? await handledTypes?.noticeOf(job) : undefined;
    results[index] = `{"status":${job.created ? 201 : 200},"job":${enqueuedText(job, input.payload, minimal, notice)}}`;
  };
  await Promise.all(answers.map(finish));
  return `{"results":[${results.join(",")}]}`;
}

/** The job; with `wait`, once it has ended or the time is over. */
async function getOrWait(client: Client, input: RouteInput<"GET /api/v1/jobs/{id}">): Promise<Job> {
  const { id } = input.params;
  const waitMs = readWait(input.query.wait);
  const job = await requireJob(client, id);
  if (waitMs === 0 || isTerminal(job.status)) return job;
  input.startWaiting();
  try {
    return await client.wait(id, { timeout: waitMs, signal: input.ending });
  } catch (error) {
    if (input.ending.aborted || (error instanceof MillraceError && error.code === "wait_timeout")) return requireJob(client, id);
    throw error;
  }
}

export async function requireJob(client: Client, id: string): Promise<Job> {
  const job = await client.get(id);
  if (job === null) throw new MillraceError("not_found", `there is no job ${id}`, { jobId: id });
  return job;
}

async function purge(client: Client, id: string, who: ChangeOptions): Promise<AnswerFrom<"DELETE /api/v1/jobs/{id}">> {
  const { status } = await requireJob(client, id);
  await client.remove(id, who);
  return { message: "Job removed", job_id: id, status };
}
