import { counted } from "../core/counted.ts";
import type { Job } from "../core/job.ts";
import { type Telemetry, withTrace } from "./telemetry.ts";

/** The part of a client that traces pass through. */
export interface TraceableClient {
  enqueue(kind: never, payload?: never, options?: never): Promise<unknown>;
  enqueueMany(jobs: never, options?: never): Promise<unknown>;
  work(handlers: never, options?: never): unknown;
}

type Meta = Readonly<Record<string, unknown>>;
type Settings = Readonly<Record<string, unknown>> & { readonly meta?: Meta; readonly queue?: string };
type Kind = string | { readonly type: string; readonly options: Settings };
type Handler = (payload: unknown, ctx: { readonly job: Job }) => unknown;
type Handlers = Readonly<Record<string, Handler>> | readonly { readonly handler: Handler }[];

/**
 * Makes a client carry traces: what it enqueues remembers where, and what it works continues there. The client itself is changed, and
 * answered. `defaults` are those that it fills gaps of jobs with: a trace must not take the place of a default meta.
 * What a caller gave wrong is handed on as it is, so that the client refuses it in its own words.
 */
export function traceClient<Client extends TraceableClient>(client: Client, telemetry: Telemetry, defaults: Settings = {}): Client {
  const enqueue = client.enqueue.bind(client) as (kind: Kind, payload: unknown, options: unknown) => Promise<unknown>;
  const enqueueMany = client.enqueueMany.bind(client) as (jobs: unknown, options: unknown) => Promise<unknown>;

  /** The meta of the call, or else of the definition, or else the default. */
  const metaOf = (kind: Kind, settings: Settings): Meta | undefined => settings.meta ?? optionsOf(kind).meta ?? defaults.meta;

  return Object.assign(traceWork(client, telemetry), {
    enqueue: (kind: Kind, payload?: unknown, options?: unknown) => {
      if (!telemetry.isOn || !isKind(kind) || !isSettings(options)) return enqueue(kind, payload, options);
      const queue = options?.queue ?? optionsOf(kind).queue;
      return telemetry.producing(nameOf(kind), queue, (carrier) =>
        enqueue(kind, payload, { ...options, meta: withTrace(metaOf(kind, options ?? {}), carrier) }),
      );
    },
    enqueueMany: (jobs: unknown, options?: unknown) => {
      if (!telemetry.isOn || !Array.isArray(jobs)) return enqueueMany(jobs, options);
      return telemetry.producing(counted(jobs.length, "job"), undefined, (carrier) =>
        enqueueMany(
          jobs.map((job: Settings & { readonly type: Kind }) =>
            isSettings(job) && isKind(job?.type) ? { ...job, meta: withTrace(metaOf(job.type, job), carrier) } : job,
          ),
          options,
        ),
      );
    },
  });
}

/**
 * Makes a client continue the traces of what it works, and no more. For a server: what is enqueued through it brings the trace of its producer
 * in its meta, which a trace of the server's own must not replace.
 */
export function traceWork<Client extends Pick<TraceableClient, "work">>(client: Client, telemetry: Telemetry): Client {
  const work = client.work.bind(client) as (handlers: unknown, options: unknown) => unknown;
  return Object.assign(client, {
    work: (handlers: Handlers, options?: unknown) => work(traceHandlers(handlers, telemetry), options),
  });
}

function traceHandlers(handlers: Handlers, telemetry: Telemetry): unknown {
  const traced = (handler: Handler): Handler =>
    typeof handler === "function"
      ? (payload, ctx) => (telemetry.isOn ? telemetry.consuming(ctx.job, () => handler(payload, ctx)) : handler(payload, ctx))
      : handler;
  if (Array.isArray(handlers)) {
    const list = handlers as readonly { readonly handler: Handler }[];
    return list.map((handled) => (isObject(handled) ? { ...(handled as object), handler: traced(handled.handler) } : handled));
  }
  if (!isObject(handlers)) return handlers;
  return Object.fromEntries(Object.entries(handlers as Record<string, Handler>).map(([type, handler]) => [type, traced(handler)]));
}

function isKind(kind: unknown): kind is Kind {
  return typeof kind === "string" || (isObject(kind) && typeof (kind as { type?: unknown }).type === "string");
}

function nameOf(kind: Kind): string {
  return typeof kind === "string" ? kind : kind.type;
}

function optionsOf(kind: Kind): Settings {
  return typeof kind === "string" ? {} : (kind.options ?? {});
}

/** Options that are options, or none; and a meta that is one, or none. */
function isSettings(options: unknown): options is Settings | undefined {
  if (options === undefined) return true;
  const { meta } = (isObject(options) ? options : { meta: null }) as { meta?: unknown };
  return meta === undefined || isObject(meta);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
