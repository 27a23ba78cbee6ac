/** WORK OVER HTTP: claim, extend, settle, note; and the registry of workers. */
import type { ClaimRequest, Client, LeaseRef, LeaseAnswer, LeaseNote, Report } from "../../client/client.ts";
import { invalid, MillraceError } from "../../core/errors.ts";
import { MAX_LOG_LINE_BYTES } from "../../core/job.ts";
import { utf8Length } from "../../core/json.ts";
import { DEFAULT_QUEUE } from "../../core/queue.ts";
import { readSchema } from "../../core/payload-schema.ts";
import { isName, NAME_RULE, readDuration } from "../../core/read-fields.ts";
import { BEAT_MS, readLease } from "../../core/work-limits.ts";
import type { leaseRoutes, LeaseResultWire, OutcomeWire } from "../contract/leases.ts";
import type { AnswerFrom, BodyIn } from "../contract.ts";
import { Grants } from "../grants.ts";
import { type Claimed, LongPolls } from "../long-polls.ts";
import { type Handlers, ok, readWait, type RouteInput, type RouteParts } from "../route-input.ts";
import { leasedText, written } from "../wire/job-text.ts";
import { fromEntryWire, toFormerWire, toWorkerWire } from "../wire/queue.ts";
import { readOutcomes } from "./outcomes.ts";
import { watchStream } from "./watch.ts";

type ClaimBody = BodyIn<"POST /api/v1/leases">;

const DEFAULT_LEASE = "30s";
const DEFAULT_TTL_MS = 3 * BEAT_MS;
const MAX_TTL_MS = 86_400_000;
const LIST_PAGE = 1000;

export function leaseHandlers(parts: RouteParts): Handlers<keyof typeof leaseRoutes> {
  const { client } = parts;
  const { leases } = client;
  const actions = new LeaseActions(parts);
  return {
    async "POST /api/v1/leases"(input) {
      const { jobs, results, againInMs } = await actions.exchange(input);
      const rest = JSON.stringify({ results, again_in_ms: againInMs }).slice(1);
      return ok(written(`{"jobs":[${jobs.map(leasedText).join(",")}],${rest}`));
    },

    async "POST /api/v1/leases/extend"({ body }) {
      const results = await leases.extend(body.leases, readLease(body.lease ?? DEFAULT_LEASE));
      return ok({ results: toResults(body.leases, results) });
    },

    async "POST /api/v1/leases/settle"({ body }) {
      return ok({ results: await actions.settle(await actions.read(body.outcomes)) });
    },

    async "POST /api/v1/leases/note"({ body: { notes } }) {
      const results = await leases.note(await Promise.all(notes.map((note, index) => actions.completeNote(note, `notes[${index}]`))));
      return ok({ results: toResults(notes, results) });
    },

    "GET /api/v1/leases/watch": (input) => watchStream(parts, input),

    async "GET /api/v1/workers"({ query }) {
      return ok({ workers: (await client.workers(query)).map(toWorkerWire) });
    },

    async "GET /api/v1/workers/former"({ query }) {
      return ok({ workers: (await client.formerWorkers(query)).map(toFormerWire) });
    },

    async "GET /api/v1/types"({ query }) {
      return ok({ types: (await client.types(query)) as AnswerFrom<"GET /api/v1/types">["types"] });
    },

    async "POST /api/v1/schemas"({ body }) {
      const schemas = body.schemas.map((schema, index) => readSchema(schema, `schemas[${index}]`));
      await leases.publishSchemas(schemas);
      return ok({ digests: schemas.map(({ digest }) => digest) });
    },

    async "PUT /api/v1/workers/{worker}"({ params: { worker }, body: { ttl = DEFAULT_TTL_MS, ...entry } }) {
      const ttlMs = readDuration(ttl, "ttl", 'a time of at most 24 hours, in milliseconds or as "15s"', MAX_TTL_MS, 1);
      await leases.register(fromEntryWire(readWorkerId(worker), entry), ttlMs);
      return ok({ message: "Worker registered", worker_id: worker, ttl: ttlMs });
    },

    async "DELETE /api/v1/workers/{worker}"({ params: { worker } }) {
      await leases.unregister(readWorkerId(worker));
      return ok({ message: "Worker removed", worker_id: worker });
    },
  };
}

/** Grants leases and ends them. */
class LeaseActions {
  readonly grants = new Grants();
  readonly #client: Client;
  readonly #clock: RouteParts["clock"];
  readonly #longPolls: LongPolls;

  constructor({ client, clock }: RouteParts) {
    this.#client = client;
    this.#clock = clock;
    this.#longPolls = new LongPolls(client, clock);
  }

  /** Settles the reports, then claims; with `wait`, until there is work. If the caller has disconnected, its new jobs are released. */
  async exchange(input: RouteInput<"POST /api/v1/leases">): Promise<Claimed & { readonly results: LeaseResultWire[] }> {
    const { body, call } = input;
    const claim = readClaim(body);
    const waitMs = readWait(body.wait);
    const reports = await this.read(body.outcomes ?? []);
    if (body.holding !== undefined) await this.#releaseOthers(claim.workerId, [...body.holding, ...reports]);
    const hungUp = call.signal.aborted;
    const answer = await this.#client.leases.exchange(reports, hungUp ? null : claim);
    const results = this.#settled(reports, answer.results);
    const first = { jobs: answer.jobs, againInMs: answer.againInMs ?? null };
    const claimed = first.jobs.length === 0 && waitMs > 0 && !hungUp ? await this.#wait(input, claim, first, waitMs) : first;
    const { jobs } = claimed;
    this.grants.add(jobs);
    if (jobs.length === 0 || !call.signal.aborted) return { ...claimed, results };
    await this.settle(jobs.map(({ job, fence, facts }) => ({ id: job.id, fence, facts, outcome: { kind: "release" }, unstarted: true })));
    return { jobs: [], againInMs: null, results };
  }

  /** Reads outcomes. Without `run_ms`, an attempt counts from its claim. */
  async read(outcomes: readonly OutcomeWire[]): Promise<Report[]> {
    const now = this.#clock.now();
    const unknown = outcomes.filter((given) => given.run_ms === undefined && this.grants.get(given) === undefined);
    const jobs = await Promise.all(unknown.map(({ id }) => this.#client.get(id)));
    const starts = new Map(jobs.map((job) => [job?.id, job?.startedAt ?? now]));
    return readOutcomes(outcomes, this.grants, now, (lease) => this.grants.get(lease)?.startedAt ?? starts.get(lease.id) ?? now);
  }

  async settle(reports: readonly Report[]): Promise<LeaseResultWire[]> {
    if (reports.length === 0) return [];
    const { results } = await this.#client.leases.exchange(reports, null);
    return this.#settled(reports, results);
  }

  /** Adds type and queue of the job, which only events need. `place` names the note in errors. */
  async completeNote(note: BodyIn<"POST /api/v1/leases/note">["notes"][number], place: string): Promise<LeaseNote> {
    const { id, fence, progress = null, lines = [] } = note;
    for (const [index, line] of lines.entries()) demandLine(line, `${place}.lines[${index}]`);
    if (typeof progress?.note === "string") demandLine(progress.note, `${place}.progress.note`);
    const known = this.grants.get(note) ?? (await this.#client.get(id));
    const { type = "unknown", queue = DEFAULT_QUEUE } = known ?? {};
    return {
      id,
      fence,
      type,
      queue,
      lines,
      progress: progress === null ? null : { percent: progress.percent, note: progress.note ?? null },
    };
  }

  #settled(reports: readonly Report[], results: readonly LeaseAnswer[]): LeaseResultWire[] {
    for (const report of reports) this.grants.delete(report);
    return toResults(reports, results);
  }

  #wait(input: RouteInput<"POST /api/v1/leases">, claim: ClaimRequest, first: Claimed, waitMs: number): Promise<Claimed> {
    const { queues, types, limit } = claim;
    input.startWaiting();
    const take = async (): Promise<Claimed> => {
      const { jobs, againInMs = null } = await this.#client.leases.exchange([], claim);
      return { jobs, againInMs };
    };
    return this.#longPolls.wait({ queues, types, limit, claim: take }, first, waitMs, input.ending);
  }

  /** A worker that lost an answer does not know which jobs it got. Those that it does not name are released, which costs no attempt. */
  async #releaseOthers(workerId: string, holding: readonly LeaseRef[]): Promise<void> {
    const held = new Set(holding.map(({ id, fence }) => `${id} ${fence}`));
    let cursor: string | null | undefined;
    do {
      const page = await this.#client.list({ status: "running", limit: LIST_PAGE, cursor });
      const others = page.jobs.filter((job) => job.workerId === workerId && !held.has(`${job.id} ${job.fence}`));
      await this.settle(others.map(({ id, fence }) => ({ id, fence, outcome: { kind: "release" } })));
      cursor = page.cursor;
    } while (cursor !== null);
  }
}

function readClaim(body: ClaimBody): ClaimRequest {
  const { worker_id, queues = [DEFAULT_QUEUE], types = "*", limit = 1, lease = DEFAULT_LEASE, turn, again = false, ahead } = body;
  if (again && turn === undefined) throw invalid("turn", "the turn of the claim whose answer was lost", turn);
  if (again && body.wait !== undefined) {
    throw new MillraceError("invalid_input", "wait and again cannot be combined: again answers at once", { field: "wait" });
  }
  return { workerId: worker_id, queues, types, limit, leaseMs: readLease(lease), turn: turn ?? 0, again, remote: true, ahead };
}

function readWorkerId(worker: string): string {
  if (!isName(worker)) throw invalid("worker", NAME_RULE, worker);
  return worker;
}

/** The contract bounds characters; the store's bound is in bytes. */
function demandLine(line: string, field: string): void {
  if (utf8Length(line) > MAX_LOG_LINE_BYTES) throw invalid(field, `a string of at most ${MAX_LOG_LINE_BYTES} bytes`, line);
}

function toResults(leases: readonly LeaseRef[], results: readonly LeaseAnswer[]): LeaseResultWire[] {
  return leases.map(({ id }, index) => {
    const result = results[index]!;
    return result === "ok" ? { id, ok: true } : { id, ok: false, code: result };
  });
}
