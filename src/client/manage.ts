/** READING AND CHANGING JOBS BY HAND. Calls by id are gathered into batches, one kind of call each. */
import { type AuditAction, auditEntry, detailsOf } from "../core/audit.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { facetsIn } from "../core/facets.ts";
import { MAX_PAGE } from "../core/filter.ts";
import { FLOW_QUEUE, FLOW_TYPE, retryMember } from "../core/flow.ts";
import { facetsInFlow, isFlowParent } from "../core/flow-parent.ts";
import { isInternalType } from "../core/internal.ts";
import { type Job, type JobRecord, type JobSummary, type LogLine, TERMINAL, toJobSummary, toJobWithTexts } from "../core/job.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "../core/json.ts";
import { demandInteger, readInteger } from "../core/read-fields.ts";
import { CANCEL, type Move, RESTART, RETRY, RUN_NOW } from "../core/lifecycle.ts";
import {
  type Actor,
  CHANGE_OPTIONS,
  type JobAttempt,
  type ManualAction,
  type ManualChange,
  readActor,
  readRetryOptions,
  RETRY_OPTIONS,
  withLives,
} from "../core/manual-change.ts";
import { partitionOf } from "../core/partition.ts";
import { Batcher } from "../lib/batcher.ts";
import { tenBitsOf } from "../lib/id.ts";
import type { ChangeAnswer } from "../store/store.ts";
import { PendingCalls } from "../lib/pending-calls.ts";
import type { ClientParts } from "./announcer.ts";
import { announceChanges, retryCallsOf, tellEnded } from "./changes.ts";
import type { JobPage } from "./client.ts";
import type { PayloadChecks } from "./enqueue.ts";
import type { DeclaredSettings } from "./declared-settings.ts";
import type { Gathering } from "./gathering.ts";
import { readListQuery } from "./filter.ts";
import { heldElsewhere, jobNotFound, readId, readOptions, wrongStatus } from "./refusals.ts";
import { listJobs } from "./search.ts";

export interface ManageParts extends ClientParts {
  readonly payloadChecks: PayloadChecks;
  readonly declared: DeclaredSettings;
  readonly gathering: Gathering;
}

/** One change by hand. */
interface Change {
  readonly id: string;
  readonly actor: Actor;
}

type MoveEvent = "job:cancelled" | "job:retried";

type RunChanges = (changes: Change[]) => Promise<(ChangeAnswer | Promise<ChangeAnswer>)[]>;

export class Manager {
  readonly #parts: ManageParts;
  readonly #finds: Batcher<string, JobRecord | null>;
  readonly #cancels: Batcher<Change, ChangeAnswer>;
  readonly #retries: Batcher<Change, ChangeAnswer>;
  readonly #runsNow: Batcher<Change, ChangeAnswer>;
  readonly #removals: Batcher<Change, ChangeAnswer>;
  readonly #pending = new PendingCalls();

  constructor(parts: ManageParts) {
    this.#parts = parts;
    this.#finds = this.#batcher((ids) => parts.store.find(ids));
    this.#cancels = this.#moves(CANCEL, "cancelled", "job:cancelled");
    this.#retries = this.#moves(RETRY, "retried", "job:retried");
    this.#runsNow = this.#moves(RUN_NOW, "started", "job:retried");
    this.#removals = this.#batcher(
      this.#lockedAlone(async (removals: Change[]) => {
        const ids = removals.map(({ id }) => id);
        return this.#audited("job:removed", removals, tellEnded(parts.announcer, await parts.store.remove(ids, TERMINAL)));
      }),
    );
  }

  async get(id: string): Promise<Job | null> {
    const record = await this.#finds.add(readId(id));
    return record === null ? null : toJobWithTexts(record);
  }

  async list(query: unknown): Promise<JobPage> {
    const { jobs, cursor } = await listJobs(this.#parts.store, readListQuery(query));
    return { jobs: jobs.map(toJobSummary), cursor };
  }

  async attempts(id: string): Promise<JobAttempt[]> {
    const { store } = this.#parts;
    // In this order: of a retry between the two, no attempt is known yet.
    const attempts = await store.attempts(readId(id));
    return attempts.length === 0 ? [] : withLives(attempts, await store.manualChanges(id));
  }

  async changes(id: string): Promise<ManualChange[]> {
    return this.#parts.store.manualChanges(readId(id));
  }

  async logs(id: string, page: unknown): Promise<LogLine[]> {
    const { after = 0, limit = MAX_PAGE } = readOptions(page, "a page of log lines", ["after", "limit"]);
    const from = readInteger(after, 0, Number.MAX_SAFE_INTEGER);
    if (from === undefined) throw invalid("after", "the number of a log line, or 0", after);
    const most = demandInteger(limit, "limit", 1, MAX_PAGE);
    return this.#parts.store.logs(readId(id), from, most);
  }

  async cancel(id: string, options: unknown): Promise<JobSummary> {
    return this.#cancel({ id: readId(id), actor: this.#readActor(readOptions(options, "the options of cancel", CHANGE_OPTIONS)) });
  }

  async #cancel(change: Change): Promise<JobSummary> {
    // Few other ids have the partition of flows, so few jobs are read for it.
    if (tenBitsOf(change.id) === FLOW_PARTITION && (await this.#finds.add(change.id))?.type === FLOW_TYPE)
      throw isFlow(change.id, "cancel");
    const answer = await this.#cancels.add(change);
    // The first answer may have been lost, so a repeat succeeds, too.
    if (answer.kind === "refused" && answer.status === "cancelled") return this.#cancelledAlready(change);
    return changed(change.id, answer, "cancelled", CANCEL.from);
  }

  async retry(id: string, options: unknown): Promise<JobSummary> {
    const { now, payload, restart, ...who } = readRetryOptions(readOptions(options, "the options of retry", RETRY_OPTIONS));
    const change = { id: readId(id), actor: this.#readActor(who) };
    const job = await this.#finds.add(change.id);
    const edit = payload === undefined ? undefined : await this.#readEdit(job, payload);
    if (job?.type === FLOW_TYPE) throw isFlow(id, "retry");
    if (job?.hasSteps && !restart) await this.#pending.add(retryCallsOf(this.#parts, job.id, change.actor));
    const answer = await this.#retry(change, now, restart, edit, job !== null && isFlowParent(job.parent));
    return changed(id, answer, "retried", now ? [...RETRY.from, ...RUN_NOW.from] : RETRY.from, retryAdvice(answer, now));
  }

  async remove(id: string, options: unknown): Promise<void> {
    const actor = this.#readActor(readOptions(options, "the options of remove", CHANGE_OPTIONS));
    const answer = await this.#removals.add({ id: readId(id), actor });
    changed(id, answer, "removed", TERMINAL, "; cancel it first");
  }

  /** Resolves when every accepted call has its answer. */
  async whenIdle(): Promise<void> {
    const all = [this.#finds, this.#cancels, this.#retries, this.#runsNow, this.#removals];
    await Promise.all(all.map((batcher) => batcher.whenIdle()));
    await this.#pending.whenIdle();
  }

  #readActor(given: { readonly by?: unknown; readonly reason?: unknown }): Actor {
    return readActor(given, this.#parts.actor);
  }

  async #cancelledAlready(change: Change): Promise<JobSummary> {
    const record = await this.#finds.add(change.id);
    if (record === null) throw jobNotFound(change.id);
    // Somebody retried it after we were refused: then it can be cancelled.
    if (record.status !== "cancelled") return this.#cancel(change);
    return toJobSummary({ ...record, error: record.error && { ...record.error, stack: null } });
  }

  async #retry(change: Change, now: boolean, restart: boolean, edit: Move["edit"], isMember: boolean): Promise<ChangeAnswer> {
    if (now) return this.#retryNow(change, isMember);
    if (!restart && edit === undefined && !isMember) return this.#retries.add(change);
    // Alone in its call, so it waits for a transaction that holds the job.
    const again = { ...(restart ? RESTART : RETRY), edit };
    const move = isMember ? retryMember(again) : again;
    const [answer] = await this.#pending.add(this.#move(move, edit === undefined ? "retried" : "edited", "job:retried", [change]));
    return answer!;
  }

  /** Two moves, because a job that only waits for its time keeps its count of used retries. */
  async #retryNow(change: Change, isMember: boolean): Promise<ChangeAnswer> {
    const answer = await this.#runsNow.add(change);
    if (answer.kind !== "refused" || !RETRY.from.includes(answer.status)) return answer;
    return this.#retry(change, false, false, undefined, isMember);
  }

  /** Checks another payload of a job. Undefined if there is no such job. */
  async #readEdit(job: JobRecord | null, payload: unknown): Promise<Move["edit"]> {
    const text = encodeJson(payload, "payload", MAX_PAYLOAD_BYTES);
    if (job === null) return undefined;
    if (isInternalType(job.type)) {
      throw new MillraceError("invalid_input", "the payload of an internal job cannot be changed", { field: "payload" });
    }
    await this.#parts.payloadChecks.get(job.type)?.(JSON.parse(text));
    const { fields } = await this.#parts.declared.of(job.queue);
    return { payload: text, facets: facetsInFlow(facetsIn(text, fields), job) };
  }

  #batcher<Item, Answer>(run: (items: Item[]) => Promise<(Answer | Error | Promise<Answer>)[]>): Batcher<Item, Answer> {
    return new Batcher({ ...this.#parts.gathering, run });
  }

  /** A job locked by another transaction is tried again alone, so that only this call waits for it. */
  #lockedAlone(run: (changes: Change[]) => Promise<ChangeAnswer[]>): RunChanges {
    const runAlone = async (change: Change): Promise<ChangeAnswer> => (await run([change]))[0]!;
    return async (changes) => {
      const answers = await run(changes);
      return answers.map((answer, index) => (answer.kind === "locked" ? this.#pending.add(runAlone(changes[index]!)) : answer));
    };
  }

  /**
   * One call for each actor, because a call of a store names one for all its jobs. Nobody waits for the call of another: one of a single job
   * waits for a transaction that holds it.
   */
  #byActor(run: RunChanges): RunChanges {
    return async (changes) => {
      const groups = [...Map.groupBy(changes, ({ actor }) => JSON.stringify(actor)).values()];
      if (groups.length === 1) return run(changes);
      const answers = new Map<Change, Promise<ChangeAnswer>>();
      for (const group of groups) {
        const call = run(group);
        group.forEach((change, index) => answers.set(change, this.#pending.add(call.then((all) => all[index]!))));
      }
      return changes.map((change) => answers.get(change)!);
    };
  }

  /** Writes the changes that were made to the audit; returns the answers. */
  async #audited(action: AuditAction, changes: readonly Change[], answers: ChangeAnswer[]): Promise<ChangeAnswer[]> {
    await this.#parts.writeAudit(
      answers.flatMap((answer, index) => {
        if (answer.kind !== "ok") return [];
        const { id, actor } = changes[index]!;
        const { queue, type } = answer.job;
        return [auditEntry(action, actor, { jobId: id, queue, details: detailsOf({ type, was: answer.was }) })];
      }),
    );
    return answers;
  }

  #moves(move: Move, action: ManualAction, event: MoveEvent): Batcher<Change, ChangeAnswer> {
    return this.#batcher(this.#byActor(this.#lockedAlone((changes) => this.#move(move, action, event, changes))));
  }

  /** All changes have the same actor. */
  async #move(move: Move, action: ManualAction, event: MoveEvent, changes: readonly Change[]): Promise<ChangeAnswer[]> {
    const ids = changes.map(({ id }) => id);
    const moved = await this.#parts.store.change(ids, move, { action, ...changes[0]!.actor });
    const answers = announceChanges(this.#parts, moved, event);
    if (event === "job:cancelled") tellEnded(this.#parts.announcer, answers);
    return this.#audited(`job:${action}`, changes, answers);
  }
}

const FLOW_PARTITION = partitionOf(FLOW_QUEUE);

function isFlow(id: string, verb: "retry" | "cancel"): MillraceError {
  return new MillraceError("invalid_input", `${id} is a flow: use client.flows.${verb}`, { field: "id", jobId: id });
}

function retryAdvice(answer: ChangeAnswer, now: boolean): string {
  if (answer.kind !== "refused") return "";
  if (answer.status === "blocked") return "; explain says what it waits for";
  return RUN_NOW.from.includes(answer.status) && !now ? "; use { now: true } to start it at once" : "";
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
