/** READING AND CHANGING JOBS BY HAND. Calls by id are gathered into batches, one kind of call each. */
import { invalid } from "../core/errors.ts";
import { MAX_PAGE } from "../core/filter.ts";
import {
  type Attempt,
  type Job,
  type JobRecord,
  type JobSummary,
  type LogLine,
  TERMINAL,
  toJobSummary,
  toJobWithTexts,
} from "../core/job.ts";
import { demandInteger, readInteger } from "../core/read-fields.ts";
import { CANCEL, type Move, RETRY, RUN_NOW } from "../core/lifecycle.ts";
import { Batcher } from "../lib/batcher.ts";
import type { ChangeAnswer } from "../store/store.ts";
import { PendingCalls } from "./pending-calls.ts";
import type { ClientParts } from "./announcer.ts";
import { announceChanges, tellEnded } from "./changes.ts";
import type { JobPage } from "./client.ts";
import type { Gathering } from "./gathering.ts";
import { readListQuery } from "./filter.ts";
import { heldElsewhere, jobNotFound, readId, readOptions, wrongStatus } from "./refusals.ts";
import { listJobs } from "./search.ts";

export interface ManageParts extends ClientParts {
  readonly gathering: Gathering;
}

export class Manager {
  readonly #parts: ManageParts;
  readonly #finds: Batcher<string, JobRecord | null>;
  readonly #cancels: Batcher<string, ChangeAnswer>;
  readonly #retries: Batcher<string, ChangeAnswer>;
  readonly #runsNow: Batcher<string, ChangeAnswer>;
  readonly #removals: Batcher<string, ChangeAnswer>;
  readonly #pending = new PendingCalls();

  constructor(parts: ManageParts) {
    this.#parts = parts;
    this.#finds = this.#batcher((ids) => parts.store.find(ids));
    this.#cancels = this.#moves(CANCEL, "job:cancelled");
    this.#retries = this.#moves(RETRY, "job:retried");
    this.#runsNow = this.#moves(RUN_NOW, "job:retried");
    this.#removals = this.#changes(async (ids) => tellEnded(parts.announcer, await parts.store.remove(ids, TERMINAL)));
  }

  async get(id: string): Promise<Job | null> {
    const record = await this.#finds.add(readId(id));
    return record === null ? null : toJobWithTexts(record);
  }

  async list(query: unknown): Promise<JobPage> {
    const { jobs, cursor } = await listJobs(this.#parts.store, readListQuery(query));
    return { jobs: jobs.map(toJobSummary), cursor };
  }

  async attempts(id: string): Promise<Attempt[]> {
    return this.#parts.store.attempts(readId(id));
  }

  async logs(id: string, page: unknown): Promise<LogLine[]> {
    const { after = 0, limit = MAX_PAGE } = readOptions(page, "a page of log lines", ["after", "limit"]);
    const from = readInteger(after, 0, Number.MAX_SAFE_INTEGER);
    if (from === undefined) throw invalid("after", "the number of a log line, or 0", after);
    const most = demandInteger(limit, "limit", 1, MAX_PAGE);
    return this.#parts.store.logs(readId(id), from, most);
  }

  async cancel(id: string): Promise<JobSummary> {
    const answer = await this.#cancels.add(readId(id));
    // The first answer may have been lost, so a repeat succeeds, too.
    if (answer.kind === "refused" && answer.status === "cancelled") return this.#cancelledAlready(id);
    return changed(id, answer, "cancelled", CANCEL.from);
  }

  async retry(id: string, options: unknown): Promise<JobSummary> {
    const { now = false } = readOptions(options, "the options of retry", ["now"]);
    if (typeof now !== "boolean") throw invalid("now", "true or false", now);
    const answer = now ? await this.#retryNow(readId(id)) : await this.#retries.add(readId(id));
    const waits = answer.kind === "refused" && RUN_NOW.from.includes(answer.status);
    return changed(id, answer, "retried", RETRY.from, waits && !now ? "; use { now: true } to start it at once" : "");
  }

  async remove(id: string): Promise<void> {
    const answer = await this.#removals.add(readId(id));
    changed(id, answer, "removed", TERMINAL, "; cancel it first");
  }

  /** Resolves when every accepted call has its answer. */
  async whenIdle(): Promise<void> {
    const all = [this.#finds, this.#cancels, this.#retries, this.#runsNow, this.#removals];
    await Promise.all(all.map((batcher) => batcher.whenIdle()));
    await this.#pending.whenIdle();
  }

  async #cancelledAlready(id: string): Promise<JobSummary> {
    const record = await this.#finds.add(id);
    if (record === null) throw jobNotFound(id);
    // Somebody retried it after we were refused: then it can be cancelled.
    if (record.status !== "cancelled") return this.cancel(id);
    return toJobSummary({ ...record, error: record.error && { ...record.error, stack: null } });
  }

  /** Two moves, because a job that only waits for its time keeps its count of used retries. */
  async #retryNow(id: string): Promise<ChangeAnswer> {
    const answer = await this.#runsNow.add(id);
    return answer.kind === "refused" && RETRY.from.includes(answer.status) ? this.#retries.add(id) : answer;
  }

  #batcher<Answer>(run: (ids: string[]) => Promise<(Answer | Error | Promise<Answer>)[]>): Batcher<string, Answer> {
    return new Batcher({ ...this.#parts.gathering, run });
  }

  /** A job locked by another transaction is tried again alone, so that only this call waits for it. */
  #changes(run: (ids: string[]) => Promise<ChangeAnswer[]>): Batcher<string, ChangeAnswer> {
    const runAlone = async (id: string): Promise<ChangeAnswer> => (await run([id]))[0]!;
    return this.#batcher(async (ids) => {
      const answers = await run(ids);
      return answers.map((answer, index) => (answer.kind === "locked" ? this.#pending.add(runAlone(ids[index]!)) : answer));
    });
  }

  #moves(move: Move, event: "job:cancelled" | "job:retried"): Batcher<string, ChangeAnswer> {
    return this.#changes(async (ids) => {
      const answers = announceChanges(this.#parts, await this.#parts.store.change(ids, move), event);
      return event === "job:cancelled" ? tellEnded(this.#parts.announcer, answers) : answers;
    });
  }
}

function changed(id: string, answer: ChangeAnswer, verb: string, possible: Move["from"], advice = ""): JobSummary {
  switch (answer.kind) {
    case "ok":
      return toJobSummary(answer.job);
    case "missing":
      throw jobNotFound(id);
    case "refused":
      throw wrongStatus(id, answer.status, verb, possible, advice);
    case "locked":
      throw heldElsewhere(`job ${id}`);
  }
}
