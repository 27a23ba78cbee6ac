/**
 * TRACES ACROSS THE QUEUE. If `@opentelemetry/api` is installed and set up, a job remembers the trace in which it was enqueued, and its handler
 * continues that trace at any time and place. The context is in the job's meta, in the format of the propagator that the application registered
 * (W3C `traceparent` by default), so that producers in other languages can write it.
 */
import type * as Otel from "@opentelemetry/api";
import { controlOf } from "../core/control-errors.ts";
import { messageOf } from "../core/errors.ts";
import type { Job } from "../core/job.ts";
import { MAX_META_BYTES, utf8Length } from "../core/json.ts";
import { isMissingPackage } from "../lib/missing-package.ts";

/** The field of a job's meta with the headers of its trace. */
export const TRACE_FIELD = "millrace:trace";

/** Headers as propagators write them, possibly with baggage. */
type Carrier = Record<string, string>;
type Meta = Readonly<Record<string, unknown>>;

const MAX_CARRIER_BYTES = 4096;

/** Loads the API. Null if it is not installed: then nothing is traced, at no cost. */
export async function loadTelemetry(): Promise<Telemetry | null> {
  try {
    return new Telemetry(await import("@opentelemetry/api"));
  } catch (error) {
    if (isMissingPackage(error, "@opentelemetry/api")) return null;
    throw error;
  }
}

export class Telemetry {
  readonly #api: typeof Otel;

  constructor(api: typeof Otel) {
    this.#api = api;
  }

  /** Whether tracing is set up. Until then nothing else here does anything. */
  get isOn(): boolean {
    return this.#api.propagation.fields().length > 0;
  }

  /** Runs an enqueue in a span, and passes it the headers to send along. */
  producing<Result>(name: string, queue: string | undefined, run: (carrier: Carrier) => Promise<Result>): Promise<Result> {
    const { context, propagation, SpanKind, trace } = this.#api;
    const attributes = {
      ...SYSTEM,
      "messaging.operation.type": "send",
      ...(queue === undefined ? {} : { "messaging.destination.name": queue }),
    };
    const span = this.#tracer.startSpan(`enqueue ${name}`, { kind: SpanKind.PRODUCER, attributes });
    const inner = trace.setSpan(context.active(), span);
    const carrier: Carrier = {};
    propagation.inject(inner, carrier);
    return context.with(inner, () => this.#ended(span, () => run(bounded(carrier))));
  }

  /** Runs a handler in a span that continues the trace of its job. `whenSuspended` sets what is called if the handler waits for ever. */
  consuming<Result>(job: Job, run: () => Result, whenSuspended: (end: () => void) => void): Result {
    const { context, propagation, ROOT_CONTEXT, SpanKind, trace } = this.#api;
    const outer = propagation.extract(ROOT_CONTEXT, carrierOf(job.meta));
    const attributes = {
      ...SYSTEM,
      "messaging.operation.type": "process",
      "messaging.destination.name": job.queue,
      "messaging.message.id": job.id,
      "millrace.job.type": job.type,
      "millrace.job.attempt": job.attempt,
    };
    const span = this.#tracer.startSpan(`run ${job.type}`, { kind: SpanKind.CONSUMER, attributes }, outer);
    return context.with(trace.setSpan(outer, span), () => this.#ended(span, run, whenSuspended));
  }

  get #tracer(): Otel.Tracer {
    return this.#api.trace.getTracer("millrace");
  }

  /** Ends the span with the call. If the result is not a promise, it ends at once, so that a synchronous handler stays synchronous. */
  #ended<Result>(span: Otel.Span, run: () => Result, whenSuspended?: (end: () => void) => void): Result {
    let isEnded = false;
    const end = (): void => {
      // A suspended handler may still end, beside its wait.
      if (!isEnded) span.end();
      isEnded = true;
    };
    whenSuspended?.(end);
    const failed = (error: unknown): never => {
      this.#fail(span, error);
      end();
      throw error;
    };
    let result: Result;
    try {
      result = run();
    } catch (error) {
      return failed(error);
    }
    if (!isThenable(result)) {
      end();
      return result;
    }
    const whenDone = Promise.resolve(result).then((value) => {
      end();
      return value;
    }, failed);
    return whenDone as Result;
  }

  /** A snooze is no failure: the handler asked for it. */
  #fail(span: Otel.Span, error: unknown): void {
    if (controlOf(error)?.kind === "snooze") return;
    if (error instanceof Error) span.recordException(error);
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: messageOf(error) });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

const SYSTEM = { "messaging.system": "millrace" };

/** Baggage can be long, so it is dropped first. */
function bounded(carrier: Carrier): Carrier {
  if (utf8Length(JSON.stringify(carrier)) <= MAX_CARRIER_BYTES) return carrier;
  const { traceparent } = carrier;
  return traceparent === undefined ? {} : { traceparent };
}

/** Meta with the headers of a trace. If there is no room for them, meta stays as it is: a trace must not make an enqueue fail. */
export function withTrace(meta: Meta | undefined, carrier: Carrier): Meta | undefined {
  if (Object.keys(carrier).length === 0) return meta;
  const traced = { ...meta, [TRACE_FIELD]: carrier };
  return meta === undefined || utf8Length(JSON.stringify(traced)) <= MAX_META_BYTES ? traced : meta;
}

/** The headers in a job's meta, whoever wrote them. */
function carrierOf(meta: Meta | null): Carrier {
  const found = meta?.[TRACE_FIELD];
  if (typeof found !== "object" || found === null) return {};
  return Object.fromEntries(Object.entries(found).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
