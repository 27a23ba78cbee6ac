/** Aliases: the routes of the first source design. */
import type { aliasRoutes } from "../contract/aliases.ts";
import { changeOptionsOf, type Handlers, ok, type RouteParts } from "../route-input.ts";
import { toSummaryWire } from "../wire/job.ts";
import { enqueuedText, jobText, written } from "../wire/job-text.ts";
import { requireJob, enqueueOne } from "./jobs.ts";
import { readNewJob } from "./new-job.ts";

const DEFAULT_TYPE = "default";
const MAX_DEAD = 1000;

export function aliasHandlers({ client, handledTypes, payloadCheck }: RouteParts): Handlers<keyof typeof aliasRoutes> {
  return {
    async "POST /jobs"({ body, call }) {
      const { payload, options } = readNewJob(body, call.header("idempotency-key"));
      const { type = DEFAULT_TYPE, queue } = body;
      await payloadCheck.check({ type, queue }, payload);
      const job = await enqueueOne(client, type, payload, options);
      const accepted = { job_id: job.id, status: job.status };
      if (!job.created) {
        const original = enqueuedText(job, payload, false);
        return { status: 409, body: written(`${JSON.stringify(accepted).slice(0, -1)},"job":${original}}`) };
      }
      const notice = await handledTypes?.noticeOf(job);
      return { status: 202, body: notice === undefined ? accepted : { ...accepted, notice } };
    },

    async "GET /jobs/{id}"({ params: { id } }) {
      return ok(written(jobText(await requireJob(client, id))));
    },

    async "GET /dlq"() {
      const { jobs } = await client.dead.list({ limit: MAX_DEAD });
      return ok({ jobs: jobs.map(toSummaryWire) });
    },

    async "POST /dlq/{id}/retry"({ params: { id }, caller }) {
      const { status } = await client.retry(id, changeOptionsOf({ caller, query: {} }));
      return ok({ job_id: id, status });
    },
  };
}
