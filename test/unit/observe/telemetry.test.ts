import { AsyncLocalStorage } from "node:async_hooks";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as otel from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import type { Context, Handlers } from "../../../src/client/client.ts";
import { Snooze } from "../../../src/core/control-errors.ts";
import type { JobOptions } from "../../../src/core/job-options.ts";
import { loadTelemetry, TRACE_FIELD } from "../../../src/observe/telemetry.ts";
import { traceClient, traceWork } from "../../../src/observe/traced-client.ts";
import { createTestClient, type TestClient } from "../../../src/testing/index.ts";
import { until } from "../../faults/until.ts";

/** As much of an SDK as it takes to see spans: what an application registers beside us. */
interface SeenSpan {
  readonly name: string;
  readonly kind: otel.SpanKind | undefined;
  readonly attributes: otel.Attributes;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly exceptions: unknown[];
  status: otel.SpanStatus | null;
  ended: boolean;
}

let spans: SeenSpan[];

function startSpan(name: string, options: otel.SpanOptions = {}, context = otel.context.active()): otel.Span {
  const parent = otel.trace.getSpanContext(context);
  const number = spans.length + 1;
  const traceId = parent?.traceId ?? String(number).padStart(32, "a");
  const spanId = String(number).padStart(16, "b");
  const seen: SeenSpan = {
    name,
    kind: options.kind,
    attributes: options.attributes ?? {},
    traceId,
    spanId,
    parentId: parent?.spanId,
    exceptions: [],
    status: null,
    ended: false,
  };
  spans.push(seen);
  return Object.assign(otel.trace.wrapSpanContext({ traceId, spanId, traceFlags: 1 }), {
    recordException: (error: unknown) => seen.exceptions.push(error),
    setStatus: (status: otel.SpanStatus) => (seen.status = status),
    end: () => (seen.ended = true),
  });
}

const propagator: otel.TextMapPropagator = {
  fields: () => ["traceparent", "baggage"],
  inject: (context, carrier, setter) => {
    const span = otel.trace.getSpanContext(context);
    if (span !== undefined) setter.set(carrier, "traceparent", `00-${span.traceId}-${span.spanId}-01`);
    const baggage = otel.propagation.getBaggage(context)?.getEntry("size")?.value;
    if (baggage !== undefined) setter.set(carrier, "baggage", `size=${"x".repeat(Number(baggage))}`);
  },
  extract: (context, carrier, getter) => {
    const header = getter.get(carrier, "traceparent");
    const [, traceId, spanId] = /^00-(\w{32})-(\w{16})-01$/.exec(String(header)) ?? [];
    if (traceId === undefined || spanId === undefined) return context;
    return otel.trace.setSpanContext(context, { traceId, spanId, traceFlags: 1, isRemote: true });
  },
};

function registerSdk(): void {
  const storage = new AsyncLocalStorage<otel.Context>();
  const manager: otel.ContextManager = {
    active: () => storage.getStore() ?? otel.ROOT_CONTEXT,
    with: (context, run, thisArg, ...args) => storage.run(context, () => run.call(thisArg as never, ...args)),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  otel.context.setGlobalContextManager(manager);
  otel.propagation.setGlobalPropagator(propagator);
  otel.trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan: () => undefined as never }) });
}

beforeEach(() => {
  spans = [];
});

afterEach(() => {
  otel.context.disable();
  otel.propagation.disable();
  otel.trace.disable();
});

async function openTraced(defaults: JobOptions = {}): Promise<TestClient> {
  const client = await createTestClient({ defaults });
  onTestFinished(() => client.close());
  const telemetry = await loadTelemetry();
  return traceClient(client, telemetry!, defaults as never);
}

describe("with tracing set up", () => {
  beforeEach(registerSdk);

  test("a handler runs in the trace in which its job was enqueued", async () => {
    const client = await openTraced();
    const request = startSpan("request");
    const job = await otel.context.with(otel.trace.setSpan(otel.context.active(), request), () =>
      client.enqueue("mail", { to: "ann" }, { queue: "post" }),
    );
    let inside: otel.SpanContext | undefined;
    const worker = client.work(
      { mail: async () => void (inside = otel.trace.getSpanContext(otel.context.active())) },
      { queues: ["post"] },
    );
    await client.drain();
    await worker.stop({ grace: 0 });
    const [outer, enqueue, run] = spans as [SeenSpan, SeenSpan, SeenSpan];
    expect(enqueue).toMatchObject({ name: "enqueue mail", kind: otel.SpanKind.PRODUCER, parentId: outer.spanId, ended: true });
    expect(run).toMatchObject({
      name: "run mail",
      kind: otel.SpanKind.CONSUMER,
      traceId: outer.traceId,
      parentId: enqueue.spanId,
      ended: true,
    });
    expect(run.attributes).toMatchObject({
      "messaging.destination.name": "post",
      "messaging.message.id": job.id,
      "millrace.job.attempt": 1,
    });
    expect(inside?.spanId).toBe(run.spanId);
    expect(job.meta).toEqual({ [TRACE_FIELD]: { traceparent: `00-${enqueue.traceId}-${enqueue.spanId}-01` } });
  });

  test("a server works jobs in the trace that they bring, and begins none for what is enqueued through it", async () => {
    const client = traceWork(await createTestClient(), (await loadTelemetry())!);
    onTestFinished(() => client.close());
    const brought = { [TRACE_FIELD]: { traceparent: `00-${"c".repeat(32)}-${"d".repeat(16)}-01` } };
    const job = await client.enqueue("mail", { to: "ann" }, { meta: brought });
    expect(job.meta).toEqual(brought);
    const worker = client.work({ mail: () => null });
    await client.drain();
    await worker.stop({ grace: 0 });
    expect(spans).toMatchObject([{ name: "run mail", traceId: "c".repeat(32), parentId: "d".repeat(16) }]);
  });

  test("a job that a handler enqueues belongs to the same trace", async () => {
    const client = await openTraced();
    await client.enqueue("parent");
    const worker = client.work({ parent: async () => void (await client.enqueue("child")), child: () => null });
    await client.drain();
    await worker.stop({ grace: 0 });
    expect(spans.map(({ name }) => name)).toEqual(["enqueue parent", "run parent", "enqueue child", "run child"]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  });

  test("many at once share a span", async () => {
    const client = await openTraced();
    const typed = defineJob({ type: "typed", meta: { from: "definition" } });
    const results = await client.enqueueMany([{ type: "a" }, typed.job(null), { type: "b", meta: { own: 1 } }]);
    expect(spans).toMatchObject([{ name: "enqueue 3 jobs", ended: true }]);
    const trace = { traceparent: `00-${spans[0]!.traceId}-${spans[0]!.spanId}-01` };
    expect(results.map((result) => result.ok && result.job.meta)).toEqual([
      { [TRACE_FIELD]: trace },
      { from: "definition", [TRACE_FIELD]: trace },
      { own: 1, [TRACE_FIELD]: trace },
    ]);
  });

  test("the trace takes no other meta's place: of the call, of the definition, or of the defaults", async () => {
    const client = await openTraced({ meta: { from: "defaults" } });
    const typed = defineJob({ type: "typed", meta: { from: "definition" } });
    expect((await client.enqueue("a")).meta).toMatchObject({ from: "defaults", [TRACE_FIELD]: expect.anything() as unknown });
    expect((await client.enqueue(typed)).meta).toMatchObject({ from: "definition", [TRACE_FIELD]: expect.anything() as unknown });
    expect((await client.enqueue(typed, null, { meta: { from: "call" } })).meta).toMatchObject({
      from: "call",
      [TRACE_FIELD]: expect.anything() as unknown,
    });
  });

  test("a meta that has no room for the trace stays as it is", async () => {
    const client = await openTraced();
    const meta = { big: "x".repeat(16 * 1024 - 10) };
    expect((await client.enqueue("a", null, { meta })).meta).toEqual(meta);
  });

  test("long baggage is left behind", async () => {
    const client = await openTraced();
    const context = otel.propagation.setBaggage(otel.ROOT_CONTEXT, otel.propagation.createBaggage({ size: { value: "10000" } }));
    const { meta } = await otel.context.with(context, () => client.enqueue("a"));
    expect(Object.keys(meta![TRACE_FIELD] as object)).toEqual(["traceparent"]);
  });

  test.each([
    [{ "millrace:trace": "text" }],
    [{ "millrace:trace": null }],
    [{ "millrace:trace": { traceparent: 7, tracestate: {} } }],
    [{ "millrace:trace": { traceparent: "nonsense" } }],
  ])("a job with %j runs in a trace of its own", async (meta) => {
    const client = await openTraced();
    const worker = client.work({ a: () => "done" });
    const plain = await client.schedules.upsert({ name: "s", type: "a", every: "1h", meta });
    await client.schedules.run(plain.name);
    await client.drain();
    await worker.stop({ grace: 0 });
    expect(spans).toMatchObject([{ name: "run a", parentId: undefined, ended: true }]);
  });

  test.each([
    [() => Promise.reject(new Error("boom")), "boom"],
    [
      () => {
        throw new Error("at once");
      },
      "at once",
    ],
  ])("a failure is told of the span, and is still a failure", async (handler, message) => {
    const client = await openTraced();
    const { id } = await client.enqueue("a", null, { maxRetries: 0 });
    const worker = client.work({ a: handler });
    await client.drain();
    await worker.stop({ grace: 0 });
    expect(spans[1]).toMatchObject({ ended: true, status: { code: otel.SpanStatusCode.ERROR, message } });
    expect(spans[1]!.exceptions).toHaveLength(1);
    expect(await client.get(id)).toMatchObject({ status: "dead", error: { message } });
  });

  test("a snooze is no failure", async () => {
    const client = await openTraced();
    await client.enqueue("a");
    const worker = client.work({ a: () => Promise.reject(new Snooze("1h")) });
    await client.drain();
    await worker.stop({ grace: 0 });
    expect(spans[1]).toMatchObject({ ended: true, status: null, exceptions: [] });
  });

  test("a handler that is suspended at a wait ends its span, and the next attempt has another in the same trace", async () => {
    const client = await openTraced();
    const job = await client.enqueue("a");
    const worker = client.work({ a: (_payload, ctx) => ctx.waitFor("go") });
    await until(() => spans[1]?.ended === true);
    await client.signal(job.id, "go");
    await client.drain();
    await worker.stop({ grace: 0 });
    expect(spans).toMatchObject([{ name: "enqueue a" }, { name: "run a", ended: true, status: null }, { name: "run a", ended: true }]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  });

  test("the span ends also if the job was cancelled before its handler came to the wait", async () => {
    const client = await openTraced();
    const job = await client.enqueue("a");
    const cancelThenWait = async (_payload: unknown, ctx: Context): Promise<unknown> => {
      await ctx.step("cancel", () => client.cancel(job.id).then(() => null)).catch(() => {});
      return ctx.waitFor("go");
    };
    const worker = client.work({ a: cancelThenWait });
    await until(() => spans[1]?.ended === true);
    await worker.stop({ grace: 0 });
    expect(spans).toMatchObject([{ name: "enqueue a" }, { name: "run a", ended: true, status: null }]);
  });

  test("handlers of definitions are traced, and get what their schema made", async () => {
    const client = await openTraced();
    const typed = defineJob<{ n: number }>({ type: "typed" });
    await client.enqueue(typed, { n: 2 });
    const worker = client.work([typed.handle(({ n }) => n * 2)]);
    await client.drain();
    await worker.stop({ grace: 0 });
    expect(spans.map(({ name }) => name)).toEqual(["enqueue typed", "run typed"]);
    expect((await client.list({ type: "typed" })).jobs[0]).toMatchObject({ status: "completed" });
  });

  test.each([
    ["a type that is none", (client: TestClient) => client.enqueue(7 as never), /type must be|definition/],
    ["options that are none", (client: TestClient) => client.enqueue("a", null, "options" as never), /options must be an object/],
    ["a meta that is none", (client: TestClient) => client.enqueue("a", null, { meta: [] as never }), /meta must be/],
    ["jobs that are none", (client: TestClient) => client.enqueueMany({} as never), /jobs must be an array/],
  ])("%s is refused as ever", async (_, call, message) => {
    const client = await openTraced();
    await expect(call(client)).rejects.toThrow(message);
  });

  test.each([[null], [{ a: "no function" }], [[null]], [[{ handler: "no function" }]]])(
    "handlers that are none are refused as ever: %j",
    async (handlers) => {
      const client = await openTraced();
      expect(() => client.work(handlers as unknown as Handlers)).toThrow(/handlers/);
    },
  );
});

describe("without tracing set up", () => {
  test("and without the API there is nothing to load, and that is no error", async () => {
    const hooks = `
      import { registerHooks } from "node:module";
      registerHooks({
        resolve(specifier, context, next) {
          if (specifier === "@opentelemetry/api") throw Object.assign(new Error("not installed"), { code: "ERR_MODULE_NOT_FOUND" });
          return next(specifier, context);
        },
      });
    `;
    const program = `
      const { loadTelemetry } = await import(${JSON.stringify(new URL("../../../src/observe/telemetry.ts", import.meta.url).href)});
      console.log(await loadTelemetry());
    `;
    const options = ["--import", `data:text/javascript,${encodeURIComponent(hooks)}`, "--input-type=module", "--eval", program];
    expect((await promisify(execFile)(process.execPath, options)).stdout).toBe("null\n");
  });

  test("jobs carry nothing and handlers run as they are", async () => {
    const client = await openTraced();
    const { id } = await client.enqueue("a", 1);
    const worker = client.work({ a: (payload) => payload });
    await client.drain();
    await worker.stop({ grace: 0 });
    expect(await client.get(id)).toMatchObject({ status: "completed", result: 1, meta: null });
    expect(spans).toEqual([]);
  });
});
