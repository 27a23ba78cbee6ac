import type { NewJob } from "../../core/job.ts";
import { tenBitsOf } from "../../lib/id.ts";
import { LostAnswer } from "../lost-answer.ts";
import type { ReplaceAnswer } from "../store.ts";
import { textOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { encodeJobs } from "./insert.ts";
import { REPLACE } from "./statements/replace.ts";

/** One call for each job, sent at once. Of jobs with one id, the next is sent after the answer to the one before. */
export async function replaceJobs(context: Context, jobs: readonly NewJob[]): Promise<ReplaceAnswer[]> {
  context.eviction.refuse();
  const lasts = new Map<string, Promise<ReplaceAnswer>>();
  const answers = jobs.map((job) => {
    const before = lasts.get(job.id);
    const answer = before === undefined ? replaceJob(context, job) : before.then(() => replaceJob(context, job));
    lasts.set(job.id, answer);
    return answer;
  });
  return Promise.all(answers);
}

async function replaceJob({ session, keys, feed }: Context, job: NewJob): Promise<ReplaceAnswer> {
  const lost = new LostAnswer("Redis");
  // Whether it is blocked is what the job before says.
  const args = encodeJobs([{ ...job, blocked: false }]);
  const reply = await session.run(REPLACE, keys.partition(tenBitsOf(job.id)), args, lost.note);
  if (Buffer.isBuffer(reply)) {
    lost.check(false, "jobs");
    return textOf(reply) === "m" ? "missing" : "refused";
  }
  feed.sendHints(reply);
  return "ok";
}
