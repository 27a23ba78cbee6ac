/** THE CLIENT OVER HTTP: the same interface as over a store. Runs in Node and in browsers: it needs only fetch. */
import type {
  Client,
  EnqueuedJob,
  EnqueueOptions,
  Handlers,
  JobDefinition,
  JobInput,
  PlainClient,
  QueueOptions,
  WorkerHandle,
  WorkOptions,
  WorkerClient,
} from "../client/client.ts";
import type { Duration } from "../core/duration.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { readField } from "../core/facets.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "../core/json.ts";
import { textsIn } from "../core/json-source.ts";
import { withTexts } from "../core/json-text.ts";
import { isTerminal, type Job, type JobSummary } from "../core/job.ts";
import { orByDefinition } from "../core/job-definition.ts";
import type { JobOptions } from "../core/job-options.ts";
import { type LimitOptions, readLimits } from "../core/limits.ts";
import { readRetryOptions } from "../core/manual-change.ts";
import { readCreate, readSettingNames } from "../core/queue.ts";
import { isName, NAME_RULE, readFields } from "../core/read-fields.ts";
import type { Clock } from "../lib/clock.ts";
import { createRemoteBulk } from "./remote/bulk.ts";
import { changeQuery } from "./remote/change-query.ts";
import { RemoteEnqueuer } from "./remote/enqueue.ts";
import { remoteEvents } from "./remote/events.ts";
import { createRemoteFlows, remoteFlowMaker } from "./remote/flows.ts";
import { readId } from "./remote/ids.ts";
import { RemoteLeases } from "./remote/leases.ts";
import { createRemoteLimits } from "./remote/limits.ts";
import { countJobs, createRemoteDead, listJobs, queryOf } from "./remote/queries.ts";
import { createRemoteSchedules, orNull } from "./remote/schedules.ts";
import { listRemoteSteps, sendRemoteSignal } from "./remote/steps.ts";
import { type Answered, Transport } from "./remote/transport.ts";
import { waitForRemoteEnd } from "./remote/wait-for-end.ts";
import { wireText } from "./remote/wire-text.ts";
import { fromAuditWire } from "./wire/audit.ts";
import { fromAttemptWire, fromJobWire, fromLogLineWire, fromManualChangeWire, fromSummaryWire } from "./wire/job.ts";
import { fromFormerWire, fromPointWire, fromQueueDetailsWire, fromQueueWire, fromStatsWire, fromWorkerWire } from "./wire/queue.ts";
import { fromReasonWire } from "./wire/reason.ts";

export interface RemoteOptions {
  /** Of the server, with its mount path if it has one. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  readonly clock: Clock;
  /** In [0, 1); spreads retries. */
  readonly random: () => number;
  /** How long a call may wait for the server. */
  readonly deadlineMs: number;
  readonly defaults?: JobOptions | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** Starts a worker; absent where none can run, as in a browser. */
  readonly startWorker?:
    | ((client: WorkerClient, handlers: Handlers, options: WorkOptions | undefined, onStopped: () => void) => WorkerHandle)
    | undefined;
}

export function createRemoteClient(options: RemoteOptions): PlainClient {
  const { clock, random, deadlineMs, defaults = {} } = options;
  const transport = new Transport({
    url: readUrl(options.url),
    apiKey: readKey(options.apiKey),
    deadlineMs,
    clock,
    random,
    // Wrapped: browsers refuse to call fetch as a method of another object.
    fetch: options.fetch ?? ((...args) => fetch(...args)),
  });
  const enqueuer = new RemoteEnqueuer({ transport, clock, defaults });
  const leases = new RemoteLeases({ transport, clock, random, defaults });
  const flows = createRemoteFlows({ transport, clock, enqueuer });
  const workers = new Set<WorkerHandle>();
  let isClosing = false;
  let closed: Promise<void> | null = null;

  async function get(id: string): Promise<Job | null> {
    const found = await orNull(transport.ask("GET /api/v1/jobs/{id}", { params: { id: readId(id) }, repeatable: true }));
    return found === null ? null : jobWithTexts(found);
  }

  function work(handlers: Handlers, workOptions?: WorkOptions): WorkerHandle {
    if (isClosing) throw clientClosed();
    if (options.startWorker === undefined) throw new MillraceError("invalid_input", "this client cannot run workers: use connect()");
    const worker = options.startWorker({ leases, get, flows }, handlers, workOptions, () => workers.delete(worker));
    workers.add(worker);
    return worker;
  }

  async function shutDown(stopOptions: { readonly grace?: Duration }): Promise<void> {
    const stopped = await Promise.allSettled([...workers].map((worker) => worker.stop(stopOptions)));
    await enqueuer.whenIdle();
    transport.end(clientClosed());
    for (const end of stopped) if (end.status === "rejected") throw end.reason;
  }

  async function close(closeOptions?: { readonly grace?: Duration | undefined }): Promise<void> {
    const { grace } = closeOptions === undefined ? {} : readFields(closeOptions, "the options of close", ["grace"]);
    const stopOptions = grace === undefined ? {} : { grace: grace as Duration };
    if (isClosing && grace !== undefined) for (const worker of workers) void worker.stop(stopOptions).catch(() => {});
    isClosing = true;
    await (closed ??= shutDown(stopOptions));
  }

  function enqueue(kind: string | JobDefinition<unknown>, payload?: unknown, enqueueOptions?: EnqueueOptions): Promise<EnqueuedJob> {
    return transport.ending.aborted ? Promise.reject(clientClosed()) : enqueuer.enqueue(kind, payload, enqueueOptions);
  }

  const client: PlainClient = {
    enqueue: enqueue as Client["enqueue"],
    enqueueMany: (async (jobs: readonly JobInput[], many: unknown) => {
      transport.ending.throwIfAborted();
      return enqueuer.enqueueMany(jobs, many === undefined ? undefined : readFields(many, "the options of enqueueMany", ["tx"]).tx);
    }) as Client["enqueueMany"],
    flow: remoteFlowMaker({ transport, clock, enqueuer }),
    flows,
    get: orByDefinition(get),
    list: async (query) => listJobs(transport, query),
    count: async (filter) => countJobs(transport, filter),
    async facets(field, filter) {
      const query = queryOf(filter, "a filter of jobs");
      const { body } = await transport.ask("GET /api/v1/facets/{field}", {
        params: { field: readField(field, "field") },
        query,
        repeatable: true,
      });
      return { values: body.values, without: body.without, isCapped: body.is_capped, hasMore: body.has_more };
    },
    async attempts(id) {
      const found = await orNull(transport.ask("GET /api/v1/jobs/{id}/attempts", { params: { id: readId(id) }, repeatable: true }));
      return (found?.body.attempts ?? []).map(fromAttemptWire);
    },
    async changes(id) {
      const found = await orNull(transport.ask("GET /api/v1/jobs/{id}/changes", { params: { id: readId(id) }, repeatable: true }));
      return (found?.body.changes ?? []).map(fromManualChangeWire);
    },
    async explain(id) {
      const { body } = await transport.ask("GET /api/v1/jobs/{id}/explain", { params: { id: readId(id) }, repeatable: true });
      return { reasons: body.reasons.map(fromReasonWire) };
    },
    steps: (id) => listRemoteSteps(transport, id),
    signal: (id, name, payload, signalOptions) => sendRemoteSignal(transport, id, name, payload, signalOptions),
    async logs(id, page) {
      const query = queryOf(page, "a page of log lines");
      const found = await orNull(transport.ask("GET /api/v1/jobs/{id}/logs", { params: { id: readId(id) }, query, repeatable: true }));
      return (found?.body.lines ?? []).map(fromLogLineWire);
    },
    wait: orByDefinition((id, waitOptions) => waitForEnd({ transport, clock }, id, waitOptions)),
    async cancel(id, options) {
      const { query } = changeQuery(options, "the options of cancel");
      return changed(await transport.ask("POST /api/v1/jobs/{id}/cancel", { params: { id: readId(id) }, query, repeatable: true }));
    },
    async retry(id, retryOptions) {
      const { query, given } = changeQuery(retryOptions, "the options of retry", ["now", "payload", "restart"]);
      const { now, payload, restart } = readRetryOptions(given);
      const asked = { now: now ? "true" : undefined, restart: restart ? "true" : undefined, ...query };
      const body = payload === undefined ? {} : { body: wireText({}, { payload: encodeJson(payload, "payload", MAX_PAYLOAD_BYTES) }) };
      const request = { params: { id: readId(id) }, query: asked, ...body, repeatable: false };
      return changed(await transport.ask("POST /api/v1/jobs/{id}/retry", request));
    },
    async remove(id, options) {
      const query = { purge: "true", ...changeQuery(options, "the options of remove").query };
      await transport.ask("DELETE /api/v1/jobs/{id}", { params: { id: readId(id) }, query, repeatable: false });
    },
    async audit(query) {
      const { body } = await transport.ask("GET /api/v1/audit", { query: queryOf(query, "a list of changes"), repeatable: true });
      return { entries: body.entries.map(fromAuditWire), cursor: body.next_cursor };
    },
    attention: async () => (await transport.ask("GET /api/v1/attention", { repeatable: true })).body.findings,
    stats: async () => fromStatsWire((await transport.ask("GET /api/v1/stats", { repeatable: true })).body),
    async history(query) {
      const asked = queryOf(query, "a history");
      return (await transport.ask("GET /api/v1/stats/history", { query: asked, repeatable: true })).body.points.map(fromPointWire);
    },
    async queues(queueOptions) {
      const query = queryOf(queueOptions, "the options of queues");
      return (await transport.ask("GET /api/v1/queues", { query, repeatable: true })).body.queues.map(fromQueueWire);
    },
    async queue(name) {
      const found = await orNull(transport.ask("GET /api/v1/queues/{queue}", { params: { queue: readQueueName(name) }, repeatable: true }));
      return found === null ? null : fromQueueDetailsWire(found.body);
    },
    async queueTypes(queue, query) {
      const asked = { params: { queue: readQueueName(queue) }, query: queryOf(query, "the types of a queue"), repeatable: true };
      return (await transport.ask("GET /api/v1/queues/{queue}/types", asked)).body.types;
    },
    async configure(queue, settings, newQueue) {
      const body = settingsText(settings);
      const query = createQuery(newQueue, true);
      await transport.ask("PATCH /api/v1/queues/{queue}", { params: { queue: readQueueName(queue) }, query, body, repeatable: true });
    },
    async pause(queue, newQueue) {
      const query = createQuery(newQueue, false);
      await transport.ask("POST /api/v1/queues/{queue}/pause", { params: { queue: readQueueName(queue) }, query, repeatable: true });
    },
    async resume(queue, newQueue) {
      const query = createQuery(newQueue, false);
      await transport.ask("POST /api/v1/queues/{queue}/resume", { params: { queue: readQueueName(queue) }, query, repeatable: true });
    },
    dead: createRemoteDead(transport),
    bulk: createRemoteBulk(transport, clock),
    schedules: createRemoteSchedules(transport, defaults),
    limits: createRemoteLimits(transport),
    async workers(workerOptions) {
      const query = queryOf(workerOptions, "the options of workers");
      return (await transport.ask("GET /api/v1/workers", { query, repeatable: true })).body.workers.map(fromWorkerWire);
    },
    async types(typeOptions) {
      const query = queryOf(typeOptions, "the options of types");
      return (await transport.ask("GET /api/v1/types", { query, repeatable: true })).body.types;
    },
    async formerWorkers(workerOptions) {
      const query = queryOf(workerOptions, "the options of formerWorkers");
      return (await transport.ask("GET /api/v1/workers/former", { query, repeatable: true })).body.workers.map(fromFormerWire);
    },
    events(eventOptions) {
      transport.ending.throwIfAborted();
      const { signal } = eventOptions === undefined ? {} : readFields(eventOptions, "the options of events", ["signal"]);
      if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid("signal", "an AbortSignal", signal);
      return remoteEvents({
        transport,
        clock,
        random,
        signals: signal === undefined ? [transport.ending] : [transport.ending, signal],
      });
    },
    work,
    leases,
    close,
    [Symbol.asyncDispose]: () => client.close(),
  };
  return client;
}

async function waitForEnd({ transport, clock }: { transport: Transport; clock: Clock }, given: string, options: unknown): Promise<Job> {
  const id = readId(given);
  const found = await waitForRemoteEnd(clock, options, {
    noun: "job",
    id,
    ask: (waitMs, signal) =>
      transport.ask("GET /api/v1/jobs/{id}", { params: { id }, query: { wait: String(waitMs) }, repeatable: true, waitMs, signal }),
    statusOf: ({ body }) => body.status,
    hasEnded: ({ body }) => isTerminal(body.status),
  });
  return jobWithTexts(found);
}

/** A job that keeps the texts of its payload and result as the server wrote them. */
function jobWithTexts({ body, text }: Answered<"GET /api/v1/jobs/{id}">): Job {
  const texts = new Map(textsIn(text, { fields: ["payload", "result"] }).map((field) => [field.field, field.text]));
  return withTexts(fromJobWire(body), texts.get("payload") ?? "null", texts.get("result"));
}

function changed({ body }: { readonly body: { readonly job: Parameters<typeof fromSummaryWire>[0] } }): JobSummary {
  return fromSummaryWire(body.job);
}

function settingsText(settings: QueueOptions): string {
  const { retention, defaults, limits, ...rest } = readSettingNames(settings);
  // Refuses what the client over the store refuses.
  if (limits !== undefined) readLimits(limits);
  return wireText(rest, {
    ...(limits === undefined ? {} : { limits: limitsText(limits) }),
    ...(retention === undefined ? {} : { retention: wireText(retention) }),
    ...(defaults === undefined ? {} : { defaults: defaults === null ? "null" : wireText(defaults) }),
  });
}

function limitsText(limits: LimitOptions | null): string {
  if (limits === null) return "null";
  const { perKey, ...ofQueue } = limits;
  return wireText(ofQueue, perKey === undefined ? {} : { per_key: perKey === null ? "null" : wireText(perKey) });
}

function createQuery(options: unknown, usual: boolean): { create: string | undefined; reason: string | undefined } {
  const { query, given } = changeQuery(options, "the options of a change", ["create"]);
  return { create: readCreate(given, usual) ? "true" : undefined, ...query };
}

function readQueueName(queue: unknown): string {
  if (!isName(queue)) throw invalid("queue", NAME_RULE, queue);
  return queue;
}

function readUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw invalid("url", "the http or https URL of a server", text);
  if (url.username !== "" || url.password !== "") {
    throw new MillraceError("invalid_input", "url must not contain a key or password, which would end up in logs: use apiKey instead", {
      field: "url",
    });
  }
  if (url.search !== "" || url.hash !== "") throw new MillraceError("invalid_input", "url must have no query or hash", { field: "url" });
  return url.origin + url.pathname.replace(/\/+$/, "");
}

function readKey(apiKey: unknown): string | undefined {
  // The message leaves out the value: it is a secret.
  if (apiKey === undefined || (typeof apiKey === "string" && /^[\x21-\x7e]+$/.test(apiKey))) return apiKey;
  throw new MillraceError("invalid_input", "apiKey must be a string of printable ASCII characters", { field: "apiKey" });
}

function clientClosed(): MillraceError {
  return new MillraceError("closed", "the client was closed");
}
