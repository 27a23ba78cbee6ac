import { counted } from "../core/counted.ts";
import type { Job } from "../core/job.ts";
import { WHEN_SUSPENDED } from "../core/steps.ts";
import { type Telemetry, withTrace } from "./telemetry.ts";

/** The part of a client that is traced. */
export interface TraceableClient {
  enqueue(kind: never, payload?: never, options?: never): Promise<unknown>;
  enqueueMany(jobs: never, options?: never): Promise<unknown>;
  work(handlers: never, options?: never): unknown;
}

type Meta = Readonly<Record<string, unknown>>;
type Settings = Readonly<Record<string, unknown>> & { readonly meta?: Meta; readonly queue?: string };
type Kind = string | { readonly type: string; readonly options: Settings };
type Context = { readonly job: Job; readonly [WHEN_SUSPENDED]?: (listener: () => void) => void };
type Handler = (payload: unknown, ctx: Context) => unknown;
type Handlers = Readonly<Record<string, Handler>> | readonly { readonly handler: Handler }[];

/**
 * Makes a client carry traces: jobs that it enqueues remember theirs, and handlers continue it. Changes the client and returns it. `defaults` are
 * the client's defaults for jobs: a trace must not replace a default meta. Wrong arguments are passed on unchanged, so that the client refuses
 * them.
 */
export function traceClient<Client extends TraceableClient>(client: Client, telemetry: Telemetry, defaults: Settings = {}): Client {
  const enqueue = client.enqueue.bind(client) as (kind: Kind, payload: unknown, options: unknown) => Promise<unknown>;
  const enqueueMany = client.enqueueMany.bind(client) as (jobs: unknown, options: unknown) => Promise<unknown>;

  /** The meta of the call, of the definition, or the default, in this order. */
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
 * Makes a client continue the traces of jobs that it runs, and nothing more. For a server: jobs enqueued through it have the trace of their producer
 * in their meta, and a trace of the server must not replace it.
 */
export function traceWork<Client extends Pick<TraceableClient, "work">>(client: Client, telemetry: Telemetry): Client {
  const work = client.work.bind(client) as (handlers: unknown, options: unknown) => unknown;
  return Object.assign(client, { work: (handlers: Handlers, options?: unknown) => work(traceHandlers(handlers, telemetry), options) });
}

function traceHandlers(handlers: Handlers, telemetry: Telemetry): unknown {
  const consume = (handler: Handler, payload: unknown, ctx: Context): unknown =>
    telemetry.consuming(
      ctx.job,
      () => handler(payload, ctx),
      (end) => ctx[WHEN_SUSPENDED]?.(end),
    );
  const traced = (handler: Handler): Handler =>
    typeof handler === "function" ? (payload, ctx) => (telemetry.isOn ? consume(handler, payload, ctx) : handler(payload, ctx)) : handler;
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

/** Whether these are valid options with a valid meta; both may be absent. */
function isSettings(options: unknown): options is Settings | undefined {
  if (options === undefined) return true;
  const { meta } = (isObject(options) ? options : { meta: null }) as { meta?: unknown };
  return meta === undefined || isObject(meta);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
