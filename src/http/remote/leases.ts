/** Leases over HTTP, for workers that connect to a server. */
import { parentOf, parentOfKey } from "../../core/flow-parent.ts";
import type { ClaimRequest, LeasedJob, LeaseFacts, LeaseNote, LeaseRef, LeaseAnswer, Leases, Report } from "../../client/client.ts";
import type { Job } from "../../core/job.ts";
import type { JobOptions } from "../../core/job-options.ts";
import { QUEUE_DEFAULTS } from "../../core/queue.ts";
import { MAX_BATCH, MAX_SLOTS } from "../../core/work-limits.ts";
import type { SchemaText } from "../../core/payload-schema.ts";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import type { Clock } from "../../lib/clock.ts";
import { inBatches } from "../../lib/slices.ts";
import type { LeasedJobWire, LeaseResultWire } from "../contract/leases.ts";
import { fromJobWire } from "../wire/job.ts";
import { toEntryWire } from "../wire/queue.ts";
import { fromLeaseSteps, newStepText } from "../wire/step.ts";
import { fromTime } from "../wire/values.ts";
import { noTransaction } from "./enqueue.ts";
import { readEventSource, type SourceEvent } from "./event-source.ts";
import { outcomeText } from "./outcome-text.ts";
import type { Transport } from "./transport.ts";
import { wireText } from "./wire-text.ts";

export interface RemoteLeasesOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  /** Options of jobs that are used where neither the call nor the definition sets them. */
  readonly defaults: JobOptions;
}

type Listener = Parameters<Leases["watch"]>[0];

export class RemoteLeases implements Leases {
  readonly #options: RemoteLeasesOptions;
  readonly #transport: Transport;
  readonly #listeners = new Set<Listener>();
  #watching: AbortController | null = null;

  constructor(options: RemoteLeasesOptions) {
    this.#options = options;
    this.#transport = options.transport;
  }

  /** Does not send a claim again: the worker does, with `again`. */
  async exchange(reports: readonly Report[], claim: ClaimRequest | null): ReturnType<Leases["exchange"]> {
    const ahead = claim === null ? reports.length : Math.max(0, reports.length - MAX_BATCH);
    const early = await inBatches(reports.slice(0, ahead), MAX_BATCH, (batch) => this.#settle(batch));
    if (claim === null) return { results: early, jobs: [] };
    const { workerId, queues, types, limit, leaseMs, turn, again, ahead: isAhead } = claim;
    const request = { worker_id: workerId, queues, types, limit, lease: leaseMs, turn, again, ahead: isAhead };
    const { body } = await this.#transport.ask("POST /api/v1/leases", {
      body: `${JSON.stringify(request).slice(0, -1)},"outcomes":[${reports
        .slice(ahead)
        .map((report) => this.#outcomeText(report))
        .join(",")}]}`,
      repeatable: false,
    });
    const results = [...early, ...body.results.map(resultOf)];
    // A server of an older version does not send it.
    return { results, jobs: body.jobs.map(toLeasedJob), againInMs: body.again_in_ms ?? null };
  }

  settleWithin(): ReturnType<Leases["settleWithin"]> {
    return Promise.reject(noTransaction());
  }

  extend(leases: readonly LeaseRef[], leaseMs: number): Promise<LeaseAnswer[]> {
    return inBatches(leases, MAX_SLOTS, async (batch) => {
      const { body } = await this.#transport.ask("POST /api/v1/leases/extend", {
        body: JSON.stringify({ leases: batch.map(({ id, fence }) => ({ id, fence })), lease: leaseMs }),
        repeatable: true,
      });
      return body.results.map(resultOf);
    });
  }

  /** Not sent again if the answer was lost: log lines could be written twice. */
  note(notes: readonly LeaseNote[]): Promise<LeaseAnswer[]> {
    return inBatches(notes, MAX_BATCH, async (batch) => {
      const { body } = await this.#transport.ask("POST /api/v1/leases/note", {
        body: JSON.stringify({ notes: batch.map(({ id, fence, progress, lines }) => ({ id, fence, progress, lines })) }),
        repeatable: false,
      });
      return body.results.map(resultOf);
    });
  }

  /** A repeat stores the same again. */
  async keepSteps({ id, fence, steps }: Parameters<Leases["keepSteps"]>[0]): ReturnType<Leases["keepSteps"]> {
    const { body } = await this.#transport.ask("POST /api/v1/leases/steps", {
      body: `${JSON.stringify({ id, fence }).slice(0, -1)},"steps":[${steps.map(newStepText).join(",")}]}`,
      repeatable: true,
    });
    return body.ok ? "ok" : (body.code ?? "stale");
  }

  async readSteps({ id, fence }: LeaseRef): ReturnType<Leases["readSteps"]> {
    const { body, text } = await this.#transport.ask("POST /api/v1/leases/steps/read", {
      body: JSON.stringify({ id, fence }),
      repeatable: true,
    });
    return body.ok ? { now: fromTime(body.now), steps: fromLeaseSteps(body.steps, text) } : null;
  }

  async signalUrl(id: string, name: string, ttlMs: number, payload: string | null): Promise<string> {
    const body = wireText({ id, name, ttl: ttlMs }, payload === null ? {} : { payload });
    return (await this.#transport.ask("POST /api/v1/leases/signal-url", { body, repeatable: true })).body.url;
  }

  async publishSchemas(schemas: readonly SchemaText[]): Promise<void> {
    const body = `{"schemas":[${schemas.map(({ text }) => text).join(",")}]}`;
    await this.#transport.ask("POST /api/v1/schemas", { body, repeatable: true });
  }

  async register(worker: WorkerEntry, ttlMs: number): Promise<void> {
    const body = JSON.stringify({ ...toEntryWire(worker), ttl: ttlMs });
    await this.#transport.ask("PUT /api/v1/workers/{worker}", { params: { worker: worker.id }, body, repeatable: true });
  }

  async unregister(workerId: string): Promise<void> {
    await this.#transport.ask("DELETE /api/v1/workers/{worker}", { params: { worker: workerId }, repeatable: true });
  }

  /** All listeners share one stream. */
  watch(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#watching === null) this.#startWatching();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#watching?.abort();
      this.#watching = null;
    };
  }

  #startWatching(): void {
    const watching = new AbortController();
    this.#watching = watching;
    const { ending } = this.#transport;
    ending.addEventListener("abort", () => watching.abort(), { once: true, signal: watching.signal });
    // A reopened stream first says where there is work, so a break needs no action.
    const onBroken = (): void => {};
    void readEventSource(
      { ...this.#options, route: "GET /api/v1/leases/watch", onEvent: (event) => this.#notify(event), onBroken },
      watching.signal,
    );
  }

  #notify({ event, data }: SourceEvent): void {
    const { queue } = data as { queue?: string };
    for (const listener of this.#listeners) {
      if (event === "lease") listener({ topic: "lease" });
      else if (event === "work" && queue !== undefined) listener({ topic: "work", queue });
    }
  }

  #outcomeText(report: Report): string {
    return outcomeText(report, this.#options.defaults);
  }

  async #settle(reports: readonly Report[]): Promise<LeaseAnswer[]> {
    const { body } = await this.#transport.ask("POST /api/v1/leases/settle", {
      body: `{"outcomes":[${reports.map((report) => this.#outcomeText(report)).join(",")}]}`,
      repeatable: true,
    });
    return body.results.map(resultOf);
  }
}

function resultOf({ ok, code }: LeaseResultWire): LeaseAnswer {
  return ok ? "ok" : (code ?? "stale");
}

function toLeasedJob(wire: LeasedJobWire): LeasedJob {
  const job = fromJobWire(wire);
  return { job, fence: wire.fence, leaseUntil: fromTime(wire.lease_expires_at), facts: factsOf(job, wire) };
}

/** What a server of an older version does not send: then hooks are told what holds by default. */
type NewFacts = Partial<Pick<LeasedJobWire, "snoozes" | "dead_letters">>;

function factsOf(job: Job, { snoozes = 0, dead_letters: deadLetters = QUEUE_DEFAULTS.deadLetters }: NewFacts): LeaseFacts {
  const { type, queue, retryCount, maxRetries, lostCount, maxLost, retryDelay, backoff, webhookUrl, limitKey } = job;
  const { attempt, workerId, startedAt, flow, coalesce } = job;
  const parentOfMember = flow === null ? job.parent : parentOf(flow.id, flow.name);
  const parent = coalesce === null ? parentOfMember : parentOfKey(coalesce.id, coalesce.key);
  const counts = { retryCount, maxRetries, lostCount, maxLost, snoozes };
  const attempts = { attempt, workerId, startedAt };
  return { type, queue, ...counts, retryDelayMs: retryDelay, backoff, webhookUrl, limitKey, deadLetters, parent, ...attempts };
}
